/** Lets things go wrong. */
import type { Disk } from '../disk.ts';
import { Host } from '../host.ts';
import type { Fault } from '../plan/action.ts';
import type { World } from '../world.ts';

export class Spoiler {
  readonly #world: World;
  readonly #backups = new Map<string, Disk>();
  #clonesMade = 0;

  constructor(world: World) {
    this.#world = world;
  }

  isPossible(action: Fault): boolean {
    return action.do !== 'restore' || this.#backups.has(action.node);
  }

  perform(action: Fault): void {
    const host = this.#world.hosts.get(action.node)!;
    const { network } = this.#world;
    const line = network.line(host.path);
    switch (action.do) {
      case 'crash':
        host.life.crashAtEffect = Math.min(host.life.crashAtEffect, host.life.effects + action.afterEffects);
        return;
      case 'stop':
        host.wanted = false;
        return host.crash(this.#world.chance());
      case 'start':
        return host.start();
      case 'empty':
        return this.#replace(host, undefined);
      case 'backup':
        this.#backups.set(host.path, host.disk.copy());
        return;
      case 'restore':
        return this.#replace(host, this.#backups.get(host.path));
      case 'reset':
        return network.reset(host.path);
      case 'cut':
        line.cut = true;
        return network.reset(host.path);
      case 'mend':
        network.mend(host.path);
        return;
      case 'silence':
        line.silent = { child: action.child, parent: action.parent };
        return;
      case 'slow':
        line.delayMaxMs = action.delayMaxMs;
        line.bufferBytes = action.bufferBytes;
        return;
      case 'double':
        line.doubles = action.share;
        return;
      case 'fill':
        host.disk.isFull = true;
        return;
      case 'tidy':
        host.disk.isFull = false;
        return;
      case 'jump':
        host.skewMs += action.ms;
        host.skewMaxMs = Math.max(host.skewMaxMs, host.skewMs);
        return;
      case 'clone':
        return this.#clone(host);
      case 'unclone':
        return this.unclone(host.path);
    }
  }

  unclone(path: string): void {
    const clone = this.#world.clones.get(path);
    if (!clone) return;
    clone.wanted = false;
    clone.isGone = true;
    clone.crash(1);
    this.#world.clones.delete(path);
  }

  #replace(host: Host, by: Disk | undefined): void {
    host.crash(1);
    host.disk.replace(by);
    // A machine that is set up again gets the time of day; one whose clock goes behind what its parent has seen of it stays refused until then.
    if (!by) host.skewMs = host.skewMaxMs;
    this.#world.replaced(host);
  }

  #clone(host: Host): void {
    if (this.#world.clones.has(host.path)) return;
    const clone = new Host(this.#world, host.planned, host.disk.copy(), true);
    this.#world.clones.set(host.path, clone);
    clone.config = host.config;
    clone.cloneNumber = this.#clonesMade++;
    clone.start();
  }
}
