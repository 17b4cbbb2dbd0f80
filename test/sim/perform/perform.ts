/** Carries out the actions of a plan in a world. It skips an action that does not fit the present state, such as a write to a space whose node does not run. */
import type { Action } from '../plan/action.ts';
import type { World } from '../world.ts';
import { Spoiler } from './faults.ts';
import { isWork, People } from './people.ts';

export class Performer {
  readonly #world: World;
  readonly #spoiler: Spoiler;
  readonly #people: People;

  constructor(world: World) {
    this.#world = world;
    this.#spoiler = new Spoiler(world);
    this.#people = new People(world, (path) => this.#spoiler.unclone(path));
  }

  perform(action: Action): void {
    if (!this.#isPossible(action)) return;
    this.#world.note(JSON.stringify(action));
    if (isWork(action)) this.#people.perform(action);
    else this.#spoiler.perform(action);
  }

  #isPossible(action: Action): boolean {
    if ('source' in action) return true;
    const host = this.#world.hosts.get(action.node);
    if (!host || (host.isGone && action.do !== 'join')) return false;
    return isWork(action) ? this.#people.isPossible(action) : this.#spoiler.isPossible(action);
  }
}
