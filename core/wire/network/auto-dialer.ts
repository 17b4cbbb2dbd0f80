/**
 * Tries the transports in their order and remembers what worked, which it begins with the next time. A transport has worked when a frame
 * of the parent came over it: a gateway may take a connection and then hold back what it does not understand.
 *
 * What worked need not be the best that would: a parent that comes up between two attempts is found over the second choice, and a way may be
 * mended. So after a while a dial has the order anew. No session is ended for it.
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

/** The first time soon, since a parent that is just starting is the common case; then twice as long each time that it was in vain. */
export const anewFirstMs = 60_000;
/** Each costs half of a dial where a firewall is silent: one in an hour is nothing. */
export const anewMaxMs = 3_600_000;

class AutoDialer implements Dialer {
  readonly #options: AutoDialerOptions;
  #anewAfterMs = anewFirstMs;
  #anewAtMs: number;
  /** Went over it, and nothing came: the others are tried before. */
  #silent: string | undefined;

  constructor(options: AutoDialerOptions) {
    this.#options = options;
    this.#anewAtMs = options.clock.monotonicMs() + anewFirstMs;
  }

  /** One attempt with each at most, all of them together within the time. */
  async dial(events: LinkEvents, timeoutMs: number): Promise<Link> {
    const { dialers, log, clock } = this.#options;
    const anew = this.#isTimeForAnew();
    const order = this.#order(anew);
    const untilMs = clock.monotonicMs() + timeoutMs;
    const failures: BanyanError[] = [];
    for (const [i, transport] of order.entries()) {
      // What is left is shared out, so that one that is silent leaves the others their part.
      const withinMs = (untilMs - clock.monotonicMs()) / (order.length - i);
      if (withinMs < 1) break;
      try {
        return await dialers[transport]!.dial(this.#watched(transport, events), withinMs);
      } catch (error) {
        const failure = asBanyanError(error);
        failures.push(failure);
        if (!otherMayHelp(failure) && !anew) break;
        log.debug({ transport, reason: failure.message }, 'a transport did not reach the parent');
      }
    }
    throw together(failures);
  }

  /** What is kept is not the first choice, and that was not tried for long. */
  #isTimeForAnew(): boolean {
    const { dialers, memory, clock } = this.#options;
    const [first] = Object.keys(dialers);
    const kept = memory.read();
    if (kept === undefined || kept === first || clock.monotonicMs() < this.#anewAtMs) return false;
    this.#anewAfterMs = Math.min(anewMaxMs, 2 * this.#anewAfterMs);
    this.#anewAtMs = clock.monotonicMs() + this.#anewAfterMs;
    return true;
  }

  #order(anew: boolean): string[] {
    const all = Object.keys(this.#options.dialers);
    if (anew) return all;
    const kept = this.#options.memory.read();
    const rank = (name: string) => (name === this.#silent ? 2 : name === kept ? 0 : 1);
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
        if (!worked) this.#silent = transport;
        events.onClose(error);
      },
      ...(onStream ? { onStream: (id, link) => onStream.call(events, id, link) } : {}),
    };
  }

  #worked(transport: string): void {
    const { memory, log } = this.#options;
    if (this.#silent === transport) this.#silent = undefined;
    if (memory.read() === transport) return;
    this.#anewAfterMs = anewFirstMs;
    this.#anewAtMs = this.#options.clock.monotonicMs() + anewFirstMs;
    try {
      memory.keep(transport);
      log.info({ transport }, 'this transport reaches the parent, and is tried first from now on');
    } catch (error) {
      // A disk that is full ends no session, nor the process: the next one is noted if there is room.
      if (!(error instanceof BanyanError)) throw error;
      log.warn({ transport, reason: error.message }, 'it is not noted which transport reaches the parent');
    }
  }
}

/** Who was refused by the parent itself, or by a proxy that all transports go through, is refused over any of them. */
function otherMayHelp({ code }: BanyanError): boolean {
  return code === 'Unavailable' || code === 'Protocol' || code === 'TooLarge';
}

function asBanyanError(error: unknown): BanyanError {
  if (error instanceof BanyanError) return error;
  return new BanyanError('Unavailable', describeError(error), {}, { cause: error });
}

/** The words of all that was tried, with the code of what was tried last. */
function together(failures: readonly BanyanError[]): BanyanError {
  const last = failures.at(-1);
  if (!last) return new BanyanError('Unavailable', 'no transport was tried in time');
  const words = [...new Set(failures.map(({ message }) => message))];
  return new BanyanError(last.code, words.join('; '), last.details, { cause: last });
}
