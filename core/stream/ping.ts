/** Asks a node for its identity and health, through the tree. Can also send bytes to the node and back, to test the line. */
import type { Duplex } from 'node:stream';
import type { Clock } from '../runtime/clock.ts';
import { durationText } from '../runtime/duration-text.ts';
import { BanyanError } from '../runtime/errors.ts';
import { duplexOf } from './duplex.ts';
import { echo, echoKind } from './echo.ts';
import { healthKind, type NodeHealth, readHealth } from './health.ts';
import type { StreamRouter } from './router.ts';
import { errorOfReset, streamWindowBytes } from './stream.ts';

export interface PingPorts {
  readonly router: StreamRouter;
  readonly clock: Clock;
  /** Path of this node. */
  readonly at: string;
}

export interface PingRequest {
  readonly path: string;
  readonly user: string;
  readonly groups: readonly string[];
  /** Time limit for the whole ping. */
  readonly timeoutMs: number;
  /** Number of bytes to send to the node and back. 0: none. */
  readonly bytes: number;
}

export interface Pinged extends NodeHealth {
  /** Time from the request to the complete answer. */
  readonly roundTripMs: number;
  readonly echo?: { readonly bytes: number; readonly ms: number };
}

/** Pings a node. If this fails, throws the error of `errorOfReset`, with the path of the node that found the reason. */
export async function ping(ports: PingPorts, request: PingRequest): Promise<Pinged> {
  const { clock } = ports;
  const { bytes, timeoutMs } = request;
  const begunMs = clock.monotonicMs();
  const health = await within(ports, request, healthKind, timeoutMs, (stream) => {
    stream.end();
    return readHealth(stream);
  });
  const answeredMs = clock.monotonicMs();
  const answer = { ...health, roundTripMs: answeredMs - begunMs };
  if (bytes === 0) return answer;
  const remainingMs = timeoutMs - answer.roundTripMs;
  await within(ports, request, echoKind, remainingMs, (stream) => echo(stream, bytes));
  return { ...answer, echo: { bytes, ms: clock.monotonicMs() - answeredMs } };
}

async function within<T>(
  { router, clock, at }: PingPorts,
  { path, user, groups, bytes }: PingRequest,
  kind: string,
  remainingMs: number,
  use: (stream: Duplex) => Promise<T>,
): Promise<T> {
  const deadlineMs = Math.max(1, Math.floor(remainingMs));
  const bulk = kind === echoKind && bytes > streamWindowBytes;
  const request = { path, kind, header: new Uint8Array(0), user, groups, deadlineMs, bulk };
  const stream = duplexOf(at, (handler) => router.open(request, handler));
  const timer = clock.after(deadlineMs, () => {
    const message = `${path === '' ? 'the center' : path} took the stream, and did not answer within ${durationText(deadlineMs)}`;
    stream.destroy(errorOfReset({ code: 'DeadlineExceeded', message, at }));
  });
  try {
    return await use(stream);
  } catch (error) {
    throw stream.errored instanceof BanyanError ? stream.errored : error;
  } finally {
    timer.stop();
    stream.destroy();
  }
}
