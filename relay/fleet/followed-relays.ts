/**
 * The events of child relays, for one watch. Each relay has one question that stays open. The next line of a relay waits until the watch has taken the line
 * before, so a slow client slows all relays down. A relay that goes away is asked again from the place up to which the client has its events.
 */
import type { Clock } from '../../core/runtime/clock.ts';
import { BanyanError, describeError } from '../../core/runtime/errors.ts';
import type { FleetChild } from './fleet.ts';
import type { FleetLine } from './fleet-lines.ts';
import { Wake } from './signals.ts';

/** A relay that is not connected costs only a look at its session, so a second is often enough and seldom enough. A relay that refuses is asked less often. */
const againMs = 1_000;
const againMsMax = 30_000;

export interface RelayLine {
  readonly relay: FleetChild;
  readonly line: FleetLine;
}

export interface FollowedRelaysPorts {
  readonly clock: Clock;
  ask(relay: FleetChild, signal: AbortSignal): AsyncIterable<FleetLine>;
  isConnected(relay: string): boolean;
  /** Whether the watch has to end because of this error. */
  mustEnd(error: BanyanError): boolean;
  /** Called when there is a line to take, or when the watch must end. */
  changed(): void;
}

interface Offered extends RelayLine {
  taken(): void;
}

export class FollowedRelays {
  readonly #ports: FollowedRelaysPorts;
  readonly #signal: AbortSignal;
  readonly #followed = new Set<string>();
  /** Relays whose present copies have not all arrived, and that answer. */
  readonly #incomplete = new Set<string>();
  readonly #offered: Offered[] = [];
  readonly #wakes = new Map<string, Wake>();
  error: BanyanError | undefined;

  constructor(ports: FollowedRelaysPorts, signal: AbortSignal) {
    this.#ports = ports;
    this.#signal = signal;
    signal.addEventListener('abort', () => {
      for (const { taken } of this.#offered) taken();
    });
  }

  /** Follows those of the relays that it does not follow yet, and looks at once at relays that were away. */
  follow(relays: readonly FleetChild[]): void {
    for (const relay of relays) {
      this.#wakes.get(relay.name)?.wake();
      if (this.#followed.has(relay.name)) continue;
      this.#followed.add(relay.name);
      this.#incomplete.add(relay.name);
      this.#wakes.set(relay.name, new Wake());
      void this.#follow(relay);
    }
  }

  /** True if all relays that answer have sent all copies that existed at the start. */
  get isComplete(): boolean {
    return this.#incomplete.size === 0;
  }

  take(): RelayLine | undefined {
    const offered = this.#offered.shift();
    offered?.taken();
    return offered;
  }

  async #follow(relay: FleetChild): Promise<void> {
    let waitMs = againMs;
    while (!this.#signal.aborted) {
      const isConnected = this.#ports.isConnected(relay.name);
      if (isConnected) {
        const hasAnswered = await this.#readOne(relay);
        waitMs = hasAnswered ? againMs : Math.min(2 * waitMs, againMsMax);
      }
      this.#away(relay);
      if (this.error) return;
      await this.#wakes.get(relay.name)!.sleepFor(isConnected ? waitMs : againMs, this.#ports.clock, this.#signal);
    }
  }

  /** Reads one answer to its end. Returns whether any line has arrived. */
  async #readOne(relay: FleetChild): Promise<boolean> {
    let hasAnswered = false;
    try {
      for await (const line of this.#ports.ask(relay, this.#signal)) {
        hasAnswered = true;
        if (line.type === 'position' && line.isComplete) this.#incomplete.delete(relay.name);
        await new Promise<void>((taken) => {
          this.#offered.push({ relay, line, taken });
          if (this.#signal.aborted) taken();
          this.#ports.changed();
        });
      }
    } catch (error) {
      const failure = error instanceof BanyanError ? error : new BanyanError('Internal', describeError(error));
      if (this.#ports.mustEnd(failure)) this.error = failure;
    }
    return hasAnswered;
  }

  #away({ name }: FleetChild): void {
    this.#incomplete.delete(name);
    this.#ports.changed();
  }
}
