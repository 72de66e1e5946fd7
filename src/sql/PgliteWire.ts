/**
 * Speaks the PostgreSQL wire protocol for a database that lives in this process, so that one client and one SQL
 * dialect serve both engines.
 *
 * The rule: the engine runs on our thread and settles without ever leaving the microtask queue, so every batch first
 * lets timers and sockets run. Sessions are served one at a time, in the order in which they start up, because the
 * engine has a single session of its own; a client must therefore be limited to one connection.
 */
import { Duplex } from "node:stream"
import { setImmediate } from "node:timers/promises"

import type { PGlite } from "@electric-sql/pglite"

/** The longest run of messages that is buffered while its end has not arrived. */
const maxBatchBytes = 64 * 1024 * 1024

/** Codes that stand in a first packet where later messages have their type. */
const protocolVersion = 196_608
const cancelRequest = 80_877_102

const type = { query: 0x51, sync: 0x53, flush: 0x48, terminate: 0x58, readyForQuery: 0x5a } as const
const headerBytes = 5

type Step =
  | { readonly _tag: "Run"; readonly batch: Uint8Array }
  | { readonly _tag: "End" }
  | { readonly _tag: "Incomplete" }

/** The first packet of a session: it has no type byte. */
const firstPacket = (bytes: Buffer): Step => {
  if (bytes.length < 8 || bytes.length < bytes.readInt32BE(0)) return { _tag: "Incomplete" }
  const code = bytes.readInt32BE(4)
  // A statement of this engine cannot be cancelled: it has our thread. Closing is all the answer a cancel gets.
  if (code === cancelRequest) return { _tag: "End" }
  if (code !== protocolVersion) throw new Error(`The embedded database does not know protocol ${code}`)
  return { _tag: "Run", batch: bytes.subarray(0, bytes.readInt32BE(0)) }
}

/** The messages up to the one that makes the engine answer; half a batch is never run. */
const nextBatch = (bytes: Buffer): Step => {
  let at = 0
  while (bytes.length - at >= headerBytes) {
    const message = bytes[at]
    const end = at + 1 + bytes.readInt32BE(at + 1)
    if (bytes.length < end) break
    if (message === type.terminate) return { _tag: "End" }
    at = end
    if (message === type.sync || message === type.query || message === type.flush) {
      return { _tag: "Run", batch: bytes.subarray(0, at) }
    }
  }
  if (bytes.length > maxBatchBytes)
    throw new Error(`A statement for the embedded database exceeds ${maxBatchBytes} bytes`)
  return { _tag: "Incomplete" }
}

/** A reply ends with the session's status when the engine waits for a new batch. */
const idle = 0x49
const statusOf = (reply: Uint8Array): number | undefined =>
  reply.length >= headerBytes + 1 && reply[reply.length - headerBytes - 1] === type.readyForQuery
    ? reply[reply.length - 1]
    : undefined

/** Leaves nothing of a session to the next one: no open transaction, no prepared statement, no setting. */
const resetSession = async (database: PGlite, status: number): Promise<void> => {
  if (database.closed) return
  if (status !== idle) await database.exec("ROLLBACK")
  await database.exec("DISCARD ALL")
}

/** Opens connections to `database`, for the `stream` option of the client. */
export const connectTo = (database: PGlite): (() => Duplex) => {
  /** Settles when the session before has left the engine clean. */
  let vacated: Promise<unknown> = Promise.resolve()

  return () => {
    let pending: Buffer = Buffer.alloc(0)
    let status: number = idle
    let leave: (() => void) | undefined

    const enter = (): Promise<unknown> => {
      const before = vacated
      vacated = new Promise<void>((resolve) => (leave = resolve))
      return before
    }

    const run = async (batch: Uint8Array): Promise<void> => {
      await setImmediate()
      const reply = await database.execProtocolRaw(batch)
      status = statusOf(reply) ?? status
      if (!connection.destroyed) connection.push(reply)
    }

    /** Runs every complete batch that has arrived. The writer is held back meanwhile, which bounds what is buffered. */
    const drain = async (): Promise<void> => {
      while (!connection.destroyed) {
        const starting = leave === undefined
        const step = starting ? firstPacket(pending) : nextBatch(pending)
        if (step._tag === "Incomplete") return
        if (step._tag === "End") return void connection.push(null)
        pending = pending.subarray(step.batch.length)
        if (starting) await enter()
        await run(step.batch)
      }
    }

    let running: Promise<unknown> = Promise.resolve()
    const connection: Duplex = new Duplex({
      read: () => {},
      write: (chunk: Buffer, _encoding, written) => {
        pending = pending.length === 0 ? chunk : Buffer.concat([pending, chunk])
        running = drain().then(() => written(), written)
      },
      destroy: (error, destroyed) => {
        void running
          .then(() => (leave === undefined ? undefined : resetSession(database, status)))
          .finally(() => leave?.())
          .then(
            () => destroyed(error),
            (cause: Error) => destroyed(error ?? cause)
          )
      }
    })
    return connection
  }
}
