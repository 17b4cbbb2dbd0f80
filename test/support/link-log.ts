/** Records the events of a link, with promises for tests that wait. Also makes frames to send. */
import type { Frame } from '../../core/wire/generated/mesh.ts';
import type { LinkEvents } from '../../core/wire/link.ts';

export class LinkLog implements LinkEvents {
  readonly frames: Frame[] = [];
  readonly closes: (Error | undefined)[] = [];
  /** The names of all events, in the order in which they happened. */
  readonly order: ('frame' | 'bytes' | 'drain' | 'close')[] = [];
  bytes = 0;
  drains = 0;
  #waiting: { done: () => boolean; resolve: () => void }[] = [];

  onFrame(frame: Frame): void {
    this.frames.push(frame);
    this.#note('frame');
  }

  onBytes(count: number): void {
    this.bytes += count;
    this.#note('bytes');
  }

  onDrain(): void {
    this.drains++;
    this.#note('drain');
  }

  onClose(error?: Error): void {
    this.closes.push(error);
    this.#note('close');
  }

  /** Resolves as soon as `done` returns true after an event. */
  until(done: (log: this) => boolean): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push({ done: () => done(this), resolve });
      this.#check();
    });
  }

  async closed(): Promise<Error | undefined> {
    await this.until((log) => log.closes.length > 0);
    return this.closes[0];
  }

  #note(event: 'frame' | 'bytes' | 'drain' | 'close'): void {
    this.order.push(event);
    this.#check();
  }

  #check(): void {
    this.#waiting = this.#waiting.filter(({ done, resolve }) => {
      if (!done()) return true;
      resolve();
      return false;
    });
  }
}

export function beat(sequence: number): Frame {
  const value = {
    sequence,
    head: 0,
    purgeRevision: 0,
    rootAgeMs: 0,
    ready: true,
    digest: undefined,
    watermarks: [],
  };
  return { frame: { $case: 'beat', value } };
}

export function data(bytes: Buffer): Frame {
  return { frame: { $case: 'data', value: { stream: 1, data: bytes } } };
}

/**
 * A data frame with this number of encoded bytes, which must be more than 2 MiB. 12 of the bytes are for the frame and the data, with a tag and a length of 4
 * bytes each, and for the stream.
 */
export function dataOfFrameBytes(length: number): Frame {
  return data(Buffer.alloc(length - 12));
}

export function sequenceOf({ frame }: Frame): number {
  return frame?.$case === 'beat' ? frame.value.sequence : -1;
}
