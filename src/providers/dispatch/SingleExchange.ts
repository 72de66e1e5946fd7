/** One request and one answer in JSON, for protocols that hold no conversation: transcriptions and embeddings. */
import { Effect } from "effect"

import type { DialectName, ProviderAccount } from "../../catalog/Provider.ts"
import type { Failure } from "../../domain/Failure.ts"
import type { WireRequest } from "../protocols/Protocol.ts"
import type { Exchange, HttpTransport } from "../transport/HttpTransport.ts"
import type { NotFoundLog } from "./NotFoundLog.ts"
import type { Target } from "./Target.ts"

interface ExchangeServices {
  readonly accountFor: (target: Target) => Effect.Effect<ProviderAccount, Failure>
  readonly transport: HttpTransport["Service"]
  readonly notFound: NotFoundLog
}

/** Sends what `encode` makes of the target's dialect, and yields the parsed body of the answer. */
export const singleExchange = ({ accountFor, notFound, transport }: ExchangeServices) =>
  Effect.fnUntraced(function* (
    target: Target,
    encode: (dialect: DialectName) => WireRequest,
    failure: Exchange["failure"]
  ) {
    const account = yield* accountFor(target)
    const wire = encode(account.provider.dialect)
    const { upstream } = target.endpoint
    return yield* Effect.tapError(transport.json({ account, wire, failure }), (error) =>
      notFound.report({ account, path: wire.path, upstream }, error)
    )
  })
