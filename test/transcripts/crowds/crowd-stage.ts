/** A crowd as the commands of a transcript control it. A thousand conversations are shown as counts. */
import type { Frame } from '../../../core/wire/generated/mesh.ts';
import { Crowd } from '../../support/crowd.ts';

export class CrowdStage {
  readonly #crowd = new Crowd();
  readonly #counts = new Map<string, number>();
  readonly #waitsMs: number[] = [];
  #atMs = 0;

  constructor() {
    this.#crowd.passes = (frame) => this.#note(frame);
  }

  start(name: string, count: number): void {
    if (name === 'parent') this.#crowd.startParent();
    else this.#crowd.startChildren(count);
  }

  /** The parent's process, and with it all of its lines. */
  crash(): void {
    this.#crowd.killParent();
    this.#crowd.connected.clear();
  }

  async run(ms: number): Promise<void> {
    await this.#crowd.run(ms);
    this.#atMs += ms;
  }

  takeLines(): string[] {
    if (this.#counts.size === 0) return [];
    const frames = [...this.#counts].map(([label, count]) => `${count} ${label}`).join(', ');
    const waits =
      this.#waitsMs.length === 0 ? '' : ` after ${Math.min(...this.#waitsMs)} to ${Math.max(...this.#waitsMs)} ms`;
    this.#counts.clear();
    this.#waitsMs.length = 0;
    return [`${String(this.#atMs).padStart(7)}  ${frames}${waits}; ${this.#crowd.connected.size} are connected`];
  }

  #note({ frame }: Frame): void {
    const kind = frame?.$case;
    if (kind !== 'hello' && kind !== 'welcome' && kind !== 'retry') return;
    const label = frame?.$case === 'retry' ? `retry ${frame.value.reason}` : kind;
    if (frame?.$case === 'retry') this.#waitsMs.push(frame.value.afterMs);
    this.#counts.set(label, (this.#counts.get(label) ?? 0) + 1);
  }
}
