/** The objects of the topology, which a node and its replicas must have alike. A write is repeated if a disk had no room for it. */
import type { Space } from '../../../core/apiserver/space.ts';
import type { VirtualClock } from '../../../core/runtime/clock.ts';
import { lacksRoom, roomAgainMs } from '../../../core/store/room.ts';
import type { Host } from '../host.ts';

export class Insisting {
  readonly #clock: VirtualClock;
  readonly #refused: (host: Host, error: unknown) => void;
  /** The wanted writes, keyed by node and subject. Only the last one counts. */
  readonly #wanted = new Map<string, (system: Space) => void>();

  constructor(clock: VirtualClock, refused: (host: Host, error: unknown) => void) {
    this.#clock = clock;
    this.#refused = refused;
  }

  ask(host: Host, subject: string, act: (system: Space) => void): void {
    const key = `${host.id} ${subject}`;
    this.#wanted.set(key, act);
    this.#try(host, key);
  }

  /** Tries the write. A node that does not run reads the topology when it starts. */
  #try(host: Host, key: string): void {
    const act = this.#wanted.get(key);
    const system = host.spaces.get('');
    this.#wanted.delete(key);
    if (!act || !system) return;
    host.simProcess.run(
      () => act(system),
      (error) => {
        if (!lacksRoom(error)) return this.#refused(host, error);
        this.#wanted.set(key, act);
        this.#clock.after(roomAgainMs, () => this.#try(host, key));
      },
    );
  }
}
