/** The frames of a stream between the call that receives them and whoever reads them. */
import type { Failure } from "../../domain/Failure.ts"
import type { ProviderFrame } from "../protocols/Protocol.ts"

export class FrameQueue {
  /** Why the stream broke off, if it did. */
  failure: Failure | undefined
  private queued: Array<ProviderFrame> = []
  private isOver = false
  private ready: (() => void) | undefined

  /** Whether the reader waits for frames. */
  get isAwaited(): boolean {
    return this.ready !== undefined
  }

  /** What has arrived since the last read. */
  read(): ReadonlyArray<ProviderFrame> | "over" | undefined {
    const { queued } = this
    if (queued.length === 0) return this.isOver ? "over" : undefined
    this.queued = []
    return queued
  }

  await(ready: () => void): void {
    this.ready = ready
  }

  put(frames: ReadonlyArray<ProviderFrame>): void {
    for (const frame of frames) this.queued.push(frame)
  }

  /** No more frames arrive. */
  end(failure: Failure | undefined): void {
    this.failure = failure
    this.isOver = true
  }

  /** Calls the reader, if it waits. */
  wake(): void {
    const { ready } = this
    this.ready = undefined
    ready?.()
  }
}
