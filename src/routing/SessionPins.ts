/**
 * Sticky sessions: which model a conversation stays on. Shared by all replicas, survives restarts, and expires fifteen
 * minutes after its last use.
 */
import { Context, type Effect, type Option } from "effect"

import type { ModelId, OrganizationId } from "../domain/Ids.ts"

export interface Session {
  readonly organization: OrganizationId
  /** As the client sent it. Stored only as a hash. */
  readonly session: string
}

export class SessionPins extends Context.Service<
  SessionPins,
  {
    /** The live pin, its fifteen minutes started anew. */
    readonly use: (session: Session) => Effect.Effect<Option.Option<ModelId>>
    /** Pins unless a live pin is already there; answers the model that is pinned now. The first writer wins. */
    readonly pin: (session: Session, model: ModelId) => Effect.Effect<ModelId>
    /** Moves a pin away from a model that cannot serve the session any more, unless somebody already moved it. */
    readonly move: (session: Session, move: { readonly from: ModelId; readonly to: ModelId }) => Effect.Effect<ModelId>
  }
>()("tollgate/routing/SessionPins") {}
