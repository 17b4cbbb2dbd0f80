/** The work of a child's process on its rows in a transcript: each runs under the poison-work guard, and the body `deadly` ends the process. */
import { CrashGuard } from '../../core/crash/crash-guard.ts';
import { crashReason } from '../../core/crash/crash-marks.ts';
import type { FeedConsumer } from '../../core/feed/consumer.ts';
import type { Content } from '../../core/feed/feed.ts';
import type { Logger } from '../../core/runtime/logger.ts';
import type { Store } from '../../core/store/store.ts';
import type { ProcessClock } from './process.ts';

export interface WorkerPorts {
  readonly store: Store;
  readonly clock: ProcessClock;
  readonly log: Logger;
  readonly consumer: FeedConsumer;
  note(line: string): void;
  /** The process ends where it stands. */
  die(): void;
}

export class Worker {
  readonly #ports: WorkerPorts;
  readonly #guard: CrashGuard;
  /** Work that runs apart from all other work, one piece after the other. */
  #apart: Promise<unknown> = Promise.resolve();

  constructor(ports: WorkerPorts) {
    this.#ports = ports;
    const { store, clock, log } = ports;
    const schedule = (run: () => void) => queueMicrotask(() => clock.run(run));
    this.#guard = new CrashGuard({ store, clock, log, build: '1', schedule });
    this.#guard.listen({ due: (key) => this.#workOn(key), changed: () => this.#noteQuarantined() });
  }

  /** Works on all rows, like a process that does not know how far the last one came. */
  start(): void {
    this.#noteQuarantined();
    for (const { key, ...content } of this.#all()) this.work(key, content);
  }

  work(key: string, { body }: Pick<Content, 'body'>): void {
    const { clock, note, die } = this.#ports;
    const bodyText = Buffer.from(body).toString();
    const act = () =>
      new Promise<'done'>((resolve) => {
        clock.run(() => {
          note(`works on ${key}`);
          if (bodyText !== 'deadly') return resolve('done');
          note(`ends by ${key}`);
          die();
        });
      });
    const begin = () => this.#guard.work(key, bodyText, act);
    if (this.#guard.companyOf(key) === 'apart') this.#apart = this.#apart.then(begin);
    else void begin();
  }

  /** In order. */
  end(): void {
    this.#guard.stop();
    this.#guard.end();
  }

  #workOn(key: string): void {
    const content = this.#all().find((one) => one.key === key);
    if (content) this.work(key, content);
  }

  #all(): Content[] {
    const { store, consumer } = this.#ports;
    return store.read((reader) =>
      [...consumer.sound.rows(reader)].map((row) => consumer.sound.content(reader, row.content!)),
    );
  }

  #noteQuarantined(): void {
    for (const [key, mark] of this.#guard.quarantined())
      this.#ports.note(`${key} is quarantined: ${crashReason(mark)}`);
  }
}
