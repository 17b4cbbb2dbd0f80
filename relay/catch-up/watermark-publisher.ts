/** Sends the watermarks of this node to each child that needs them, whenever everything that had arrived is processed. It sends at most once a second. */
import type { Clock, Timer } from '../../core/runtime/clock.ts';
import { raised, type Watermarks } from '../../core/session/watermark.ts';

/** Time between two sends. Only a child that changes its parent may have to wait for a watermark, and this interval delays the child by at most this time. */
const intervalMs = 1_000;

export interface WatermarkPublisherPorts {
  readonly clock: Clock;
  /** Returns the stored watermarks of the parent, and the revisions of the own spaces. */
  present(): Watermarks;
  /** Sends `covered` to the children. */
  send(): void;
}

export class WatermarkPublisher {
  readonly #ports: WatermarkPublisherPorts;
  #covered: Watermarks = {};
  #sent: Watermarks | undefined;
  #timer: Timer | undefined;

  constructor(ports: WatermarkPublisherPorts) {
    this.#ports = ports;
  }

  /** The watermarks at the last time at which no work was left. */
  get covered(): Watermarks {
    return this.#covered;
  }

  /** Call it when no work is left. */
  idle(): void {
    this.#covered = raised(this.#covered, this.#ports.present());
    if (this.#sent === this.#covered || this.#timer) return;
    this.#sent = this.#covered;
    this.#ports.send();
    this.#timer = this.#ports.clock.after(intervalMs, () => {
      this.#timer = undefined;
      if (this.#sent === this.#covered) return;
      this.#sent = this.#covered;
      this.#ports.send();
    });
  }

  stop(): void {
    this.#timer?.stop();
  }
}
