/** What a request can be sent to: a model at one of its endpoints. */
import type { Endpoint, Model } from "../../catalog/Model.ts"

export interface Target {
  readonly model: Model
  readonly endpoint: Endpoint
}
