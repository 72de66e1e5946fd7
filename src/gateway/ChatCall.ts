/** One chat request in hand: who asks what, under which id, since when. */
import type { Caller } from "../domain/Caller.ts"
import type { RequestId } from "../domain/Ids.ts"
import type { ChatInput } from "./ChatInput.ts"

export interface ChatCall {
  readonly id: RequestId
  readonly caller: Caller
  readonly input: ChatInput
}
