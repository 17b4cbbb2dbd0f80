/**
 * Sends children the watermarks of this node, whenever everything that had arrived is worked off: at most once a second, to each child that needs them.
 */
import type { Clock, Timer } from '../../core/runtime/clock.ts';
import { raised, type Watermarks } from '../../core/session/watermark.ts';

/** The longest time that a child which changes its parent waits for a watermark only because of this interval. Nobody else waits. */
const intervalMs = 1_000;

export interface WatermarkPublisherPorts {
  readonly clock: Clock;
  /** The watermarks that the parent has sent and that are stored here, and the revisions of the own spaces. */
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

  /** The watermarks at the last time that no work was left. */
  get covered(): Watermarks {
    return this.#covered;
  }

  /** No work is left. */
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
