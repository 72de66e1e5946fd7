/** `cache_control` as Anthropic and OpenRouter write it. Five minutes is what leaving the time out means. */
import type { CacheControl } from "../../domain/Conversation.ts"
import type { Json } from "./Protocol.ts"

export const ephemeral = (control: CacheControl): Json =>
  control.ttl === "1h" ? { type: "ephemeral", ttl: "1h" } : { type: "ephemeral" }
