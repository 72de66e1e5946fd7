/**
 * A connection to the embedded database that speaks the PostgreSQL wire protocol, so that the same client works with
 * both engines.
 *
 * The rule: the engine runs on this thread and its promises resolve without leaving the microtask queue, so timers and
 * sockets are given a turn before every batch of messages. The engine has a single session of its own, so connections
 * are served one after another, in the order of their start-up messages. A client must therefore use one connection.
 */
import { Duplex } from "node:stream"
import { setImmediate } from "node:timers/promises"

import type { PGlite } from "@electric-sql/pglite"

/** How many bytes of an incomplete batch are buffered at most. */
const maxBatchBytes = 64 * 1024 * 1024

/** The first packet of a session has a code instead of a message type: a protocol version or a request. */
const protocolVersion = 196_608
const cancelRequest = 80_877_102

const type = { query: 0x51, sync: 0x53, flush: 0x48, terminate: 0x58, readyForQuery: 0x5a } as const
const headerBytes = 5

type Step =
  | { readonly _tag: "Run"; readonly batch: Uint8Array }
  | { readonly _tag: "End" }
  | { readonly _tag: "Incomplete" }

/** Reads the first packet of a session, which has no type byte. */
const firstPacket = (bytes: Buffer): Step => {
  if (bytes.length < 8 || bytes.length < bytes.readInt32BE(0)) return { _tag: "Incomplete" }
  const code = bytes.readInt32BE(4)
  // A running statement occupies this thread and cannot be cancelled. As in PostgreSQL, the connection is closed.
  if (code === cancelRequest) return { _tag: "End" }
  if (code !== protocolVersion) throw new Error(`The embedded database does not know protocol ${code}`)
  return { _tag: "Run", batch: bytes.subarray(0, bytes.readInt32BE(0)) }
}

/** Reads the messages up to one after which the engine replies. An incomplete batch is never run. */
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

/** The status of a session outside a transaction. */
const idle = 0x49
/** The session's status, with which a reply ends when the engine is ready for the next batch. */
const statusOf = (reply: Uint8Array): number | undefined =>
  reply.length >= headerBytes + 1 && reply[reply.length - headerBytes - 1] === type.readyForQuery
    ? reply[reply.length - 1]
    : undefined

/** Ends what the next session must not see: an open transaction, prepared statements, settings. */
const resetSession = async (database: PGlite, status: number): Promise<void> => {
  if (database.closed) return
  if (status !== idle) await database.exec("ROLLBACK")
  await database.exec("DISCARD ALL")
}

/** Returns a function that opens a connection to `database`, for the `stream` option of the client. */
export const connectTo = (database: PGlite): (() => Duplex) => {
  /** Resolves when the last session that started has ended and has been reset. */
  let engineIsFree: Promise<unknown> = Promise.resolve()

  return () => {
    let pending: Buffer = Buffer.alloc(0)
    let status: number = idle
    let endSession: (() => void) | undefined

    const startSession = (): Promise<unknown> => {
      const sessionBefore = engineIsFree
      engineIsFree = new Promise<void>((resolve) => (endSession = resolve))
      return sessionBefore
    }

    const run = async (batch: Uint8Array): Promise<void> => {
      await setImmediate()
      const reply = await database.execProtocolRaw(batch)
      status = statusOf(reply) ?? status
      if (!connection.destroyed) connection.push(reply)
    }

    /** Runs every complete batch that has arrived. The writer waits meanwhile, which limits what is buffered. */
    const runBatches = async (): Promise<void> => {
      while (!connection.destroyed) {
        const starting = endSession === undefined
        const step = starting ? firstPacket(pending) : nextBatch(pending)
        if (step._tag === "Incomplete") return
        if (step._tag === "End") return void connection.push(null)
        pending = pending.subarray(step.batch.length)
        if (starting) await startSession()
        await run(step.batch)
      }
    }

    let running: Promise<unknown> = Promise.resolve()
    const connection: Duplex = new Duplex({
      read: () => {},
      write: (chunk: Buffer, _encoding, written) => {
        pending = pending.length === 0 ? chunk : Buffer.concat([pending, chunk])
        running = runBatches().then(() => written(), written)
      },
      destroy: (error, destroyed) => {
        void running
          .then(() => (endSession === undefined ? undefined : resetSession(database, status)))
          .finally(() => endSession?.())
          .then(
            () => destroyed(error),
            (cause: Error) => destroyed(error ?? cause)
          )
      }
    })
    return connection
  }
}
