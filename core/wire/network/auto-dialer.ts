/**
 * Tries the transports in their order, remembers which one worked, and begins with that one the next time. A transport has worked when a frame of the parent
 * came over it, because a gateway may accept a connection and then hold back what it does not understand.
 *
 * A transport that worked need not be the best one: a parent that starts between two attempts is found over the second choice, and somebody may repair the
 * way. So after a while, a dial uses the original order again. No session is ended for this.
 */
import type { Clock } from '../../runtime/clock.ts';
import { BanyanError, describeError } from '../../runtime/errors.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { Dialer, Link, LinkEvents } from '../link.ts';

export interface TransportMemory {
  /** The name that was kept last. */
  read(): string | undefined;
  keep(transport: string): void;
}

export interface AutoDialerOptions {
  /** By name, in the order in which they are tried. */
  readonly dialers: Readonly<Record<string, Dialer>>;
  readonly memory: TransportMemory;
  readonly log: Logger;
  readonly clock: Clock;
}

export function autoDialer(options: AutoDialerOptions): Dialer {
  return new AutoDialer(options);
}

/** The first retry of the original order comes early, since a parent that is just starting is the common case. After each retry in vain, the time doubles. */
export const anewFirstMs = 60_000;
/** Each retry costs half of a dial where a firewall drops packets silently. One retry in an hour is negligible. */
export const anewMaxMs = 3_600_000;

class AutoDialer implements Dialer {
  readonly #options: AutoDialerOptions;
  #retryAfterMs = anewFirstMs;
  #retryAtMs: number;
  /** A connection over this transport was made, and no frame came: the other transports are tried first. */
  #silentTransport: string | undefined;

  constructor(options: AutoDialerOptions) {
    this.#options = options;
    this.#retryAtMs = options.clock.monotonicMs() + anewFirstMs;
  }

  /** At most one attempt with each transport, all of them within the time. */
  async dial(events: LinkEvents, timeoutMs: number): Promise<Link> {
    const { dialers, log, clock } = this.#options;
    const isRetry = this.#isRetryDue();
    const order = this.#order(isRetry);
    const untilMs = clock.monotonicMs() + timeoutMs;
    const failures: BanyanError[] = [];
    for (const [i, transport] of order.entries()) {
      // The remaining time is divided, so that a silent transport leaves time for the others.
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

  /** The remembered transport is not the first choice, and the first choice was not tried for long. */
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
      // A full disk ends neither the session nor the process. The next transport is stored when there is room.
      if (!(error instanceof BanyanError)) throw error;
      log.warn({ transport, reason: error.message }, 'the transport that reaches the parent could not be stored');
    }
  }
}

/** A refusal by the parent itself, or by a proxy that all transports use, would come over any transport. */
function otherMayHelp({ code }: BanyanError): boolean {
  return code === 'Unavailable' || code === 'Protocol' || code === 'TooLarge';
}

function asBanyanError(error: unknown): BanyanError {
  if (error instanceof BanyanError) return error;
  return new BanyanError('Unavailable', describeError(error), {}, { cause: error });
}

/** The messages of all attempts, with the code of the last one. */
function together(failures: readonly BanyanError[]): BanyanError {
  const last = failures.at(-1);
  if (!last) return new BanyanError('Unavailable', 'no transport was tried in time');
  const messages = [...new Set(failures.map(({ message }) => message))];
  return new BanyanError(last.code, messages.join('; '), last.details, { cause: last });
}
