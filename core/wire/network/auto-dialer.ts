/**
 * Tries the transports one after the other, remembers which one worked, and begins with that one the next time. A transport has worked when a frame of the
 * parent has arrived over it. A connection alone is not enough: a gateway may accept a connection and then hold back frames that it does not understand.
 *
 * The transport that worked might not be the best one. For example, the parent started between two attempts, so only the second choice reached it; or
 * somebody has since repaired the connection. So after some time, a dial uses the original order again. No session ends because of this.
 */
import type { Clock } from '../../runtime/clock.ts';
import { BanyanError, describeError } from '../../runtime/errors.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { Dialer, Link, LinkEvents } from '../link.ts';

export interface TransportMemory {
  /** The name that was stored by the newest call of `keep`. */
  read(): string | undefined;
  keep(transport: string): void;
}

export interface AutoDialerOptions {
  /** Keyed by name, in the order in which the dialer tries them. */
  readonly dialers: Readonly<Record<string, Dialer>>;
  readonly memory: TransportMemory;
  readonly log: Logger;
  readonly clock: Clock;
}

export function autoDialer(options: AutoDialerOptions): Dialer {
  return new AutoDialer(options);
}

/** The first retry of the original order is early, because the parent is often just starting. Each failed retry doubles the time until the next one. */
export const anewFirstMs = 60_000;
/** If a firewall silently drops packets, each retry costs half of the time of a dial. One retry in an hour is negligible. */
export const anewMaxMs = 3_600_000;

class AutoDialer implements Dialer {
  readonly #options: AutoDialerOptions;
  #retryAfterMs = anewFirstMs;
  #retryAtMs: number;
  /** A transport that connected but delivered no frame. The dialer tries the other transports first. */
  #silentTransport: string | undefined;

  constructor(options: AutoDialerOptions) {
    this.#options = options;
    this.#retryAtMs = options.clock.monotonicMs() + anewFirstMs;
  }

  /** Makes at most one attempt with each transport. All attempts together take at most `timeoutMs`. */
  async dial(events: LinkEvents, timeoutMs: number): Promise<Link> {
    const { dialers, log, clock } = this.#options;
    const isRetry = this.#isRetryDue();
    const order = this.#order(isRetry);
    const untilMs = clock.monotonicMs() + timeoutMs;
    const failures: BanyanError[] = [];
    for (const [i, transport] of order.entries()) {
      // Divides the remaining time, so that a transport without an answer leaves time for the others.
      const withinMs = (untilMs - clock.monotonicMs()) / (order.length - i);
      if (withinMs < 1) break;
      try {
        return await dialers[transport]!.dial(this.#watched(transport, events), withinMs);
      } catch (error) {
        const failure = asBanyanError(error);
        failures.push(failure);
        if (!otherMayHelp(failure) && !isRetry) break;
        log.debug({ transport, reason: failure.message }, 'a transport did not reach the parent');
      }
    }
    throw together(failures);
  }

  /** True if the remembered transport is not the first choice, and it is time to try the first choice again. */
  #isRetryDue(): boolean {
    const { dialers, memory, clock } = this.#options;
    const [first] = Object.keys(dialers);
    const kept = memory.read();
    if (kept === undefined || kept === first || clock.monotonicMs() < this.#retryAtMs) return false;
    this.#retryAfterMs = Math.min(anewMaxMs, 2 * this.#retryAfterMs);
    this.#retryAtMs = clock.monotonicMs() + this.#retryAfterMs;
    return true;
  }

  #order(isRetry: boolean): string[] {
    const all = Object.keys(this.#options.dialers);
    if (isRetry) return all;
    const kept = this.#options.memory.read();
    const rank = (name: string) => (name === this.#silentTransport ? 2 : name === kept ? 0 : 1);
    return all.sort((a, b) => rank(a) - rank(b));
  }

  #watched(transport: string, events: LinkEvents): LinkEvents {
    let worked = false;
    const { onStream } = events;
    return {
      onFrame: (frame) => {
        if (!worked) this.#worked(transport);
        worked = true;
        events.onFrame(frame);
      },
      onBytes: (count) => events.onBytes(count),
      onDrain: () => events.onDrain(),
      onClose: (error) => {
        if (!worked) this.#silentTransport = transport;
        events.onClose(error);
      },
      ...(onStream ? { onStream: (id, link) => onStream.call(events, id, link) } : {}),
    };
  }

  #worked(transport: string): void {
    const { memory, log } = this.#options;
    if (this.#silentTransport === transport) this.#silentTransport = undefined;
    if (memory.read() === transport) return;
    this.#retryAfterMs = anewFirstMs;
    this.#retryAtMs = this.#options.clock.monotonicMs() + anewFirstMs;
    try {
      memory.keep(transport);
      log.info({ transport }, 'this transport reaches the parent, and is tried first from now on');
    } catch (error) {
      // A full disk must not end the session or the process. The dialer stores a transport again when another one works.
      if (!(error instanceof BanyanError)) throw error;
      log.warn({ transport, reason: error.message }, 'the transport that reaches the parent could not be stored');
    }
  }
}

/**
 * True if another transport may reach the parent. A refusal by the parent itself, or by a proxy that all transports use, would be the same over every
 * transport.
 */
function otherMayHelp({ code }: BanyanError): boolean {
  return code === 'Unavailable' || code === 'Protocol' || code === 'TooLarge';
}

function asBanyanError(error: unknown): BanyanError {
  if (error instanceof BanyanError) return error;
  return new BanyanError('Unavailable', describeError(error), {}, { cause: error });
}

/** One error with the messages of all attempts and the code of the last one. */
function together(failures: readonly BanyanError[]): BanyanError {
  const last = failures.at(-1);
  if (!last) return new BanyanError('Unavailable', 'no transport was tried in time');
  const messages = [...new Set(failures.map(({ message }) => message))];
  return new BanyanError(last.code, messages.join('; '), last.details, { cause: last });
}
