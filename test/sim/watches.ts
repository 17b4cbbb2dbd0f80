/**
 * People who watch mailboxes, like `kubectl get --watch`. Each of them has a list and the events after it. An event must fit the list so far, and after
 * healing, the result must equal a new list. A watch ends together with the process that serves it.
 */
import type { Space } from '../../core/apiserver/space.ts';
import type { SpaceStorage, StorageEvent, StoredObject } from '../../core/apiserver/storage.ts';
import { formatKey } from '../../core/object/key.ts';
import type { Host } from './host.ts';
import type { SimProcess } from './sim-process.ts';
import type { World } from './world.ts';

interface Watch {
  readonly title: string;
  readonly simProcess: SimProcess;
  readonly storage: SpaceStorage;
  /** The bodies as hex digits, keyed by entry key. */
  readonly has: Map<string, string>;
}

export class Watches {
  readonly #world: World;
  readonly #watches = new Set<Watch>();
  readonly name = 'a watch of a mailbox reports each change once';

  constructor(world: World) {
    this.#world = world;
  }

  /** `child`: the name of the child below the host. */
  begin(host: Host, child: string, { storage }: Space): void {
    const title = `the watch of ${child} at ${host.title}`;
    const watch: Watch = { title, simProcess: host.simProcess, storage, has: listed(storage) };
    this.#watches.add(watch);
    storage.subscribe((events) => {
      for (const event of events) this.#received(watch, event);
    });
  }

  /** Returns a message that names the differences between a watch and a list. */
  wrong(): string | undefined {
    for (const watch of this.#watches) {
      if (!watch.simProcess.alive) {
        this.#watches.delete(watch);
        continue;
      }
      const { title, storage } = watch;
      // A list of a view first reports to watchers what they lack. So the watch counts as it was before the list.
      const has = new Map(watch.has);
      const shown = listed(storage);
      for (const key of new Set([...has.keys(), ...shown.keys()])) {
        if (has.get(key) !== shown.get(key)) return `${title} has another ${key} than is shown`;
      }
    }
    return undefined;
  }

  #received({ title, simProcess, has }: Watch, { type, object }: StorageEvent): void {
    if (!simProcess.alive) return;
    const key = formatKey(object.key);
    if (has.has(key) === (type === 'ADDED')) this.#world.violation(this.name, `${title} receives ${type} of ${key}`);
    if (type === 'DELETED') has.delete(key);
    else has.set(key, bodyOf(object));
  }
}

function listed(storage: SpaceStorage): Map<string, string> {
  const objects = storage.resources().flatMap((resource) => storage.scan(resource));
  return new Map(objects.map((object) => [formatKey(object.key), bodyOf(object)]));
}

function bodyOf({ body }: StoredObject): string {
  return Buffer.from(body).toString('hex');
}
