/** Tells those below how far this node has come with each source, whenever all that had come is worked off: at most once a second, for each such child. */
import type { Clock, Timer } from '../../core/runtime/clock.ts';
import { raised, type Watermarks } from '../../core/session/watermark.ts';

/** A child that changes its parent waits so long for the word of it, at worst; nobody else waits. */
const intervalMs = 1_000;

export interface WatermarkPublisherPorts {
  readonly clock: Clock;
  /** What the parent said and is stored here, and what the own spaces are at. */
  present(): Watermarks;
  tell(): void;
}

export class WatermarkPublisher {
  readonly #ports: WatermarkPublisherPorts;
  #covered: Watermarks = {};
  #told: Watermarks | undefined;
  #timer: Timer | undefined;

  constructor(ports: WatermarkPublisherPorts) {
    this.#ports = ports;
  }

  /** Of all that was worked off when there was nothing left to do. */
  get covered(): Watermarks {
    return this.#covered;
  }

  /** Nothing is left to do. */
  idle(): void {
    this.#covered = raised(this.#covered, this.#ports.present());
    if (this.#told === this.#covered || this.#timer) return;
    this.#told = this.#covered;
    this.#ports.tell();
    this.#timer = this.#ports.clock.after(intervalMs, () => {
      this.#timer = undefined;
      if (this.#told === this.#covered) return;
      this.#told = this.#covered;
      this.#ports.tell();
    });
  }

  stop(): void {
    this.#timer?.stop();
  }
}
