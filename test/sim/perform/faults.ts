/** Carries out faults. */
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
    const ways = this.#waysOf(host, action);
    const lines = ways.map((parent) => network.line(host, parent));
    switch (action.do) {
      case 'crash':
        host.simProcess.crashAtEffect = Math.min(
          host.simProcess.crashAtEffect,
          host.simProcess.effects + action.afterEffects,
        );
        return;
      case 'stop':
        host.wanted = false;
        return host.crash(this.#world.chance());
      case 'start':
        return host.start();
      case 'end':
        if (action.stays) host.wanted = false;
        return host.endInOrder();
      case 'certify':
        host.certifiedUntilMs = this.#world.clock.wallMs() + (action.validMs ?? Number.POSITIVE_INFINITY);
        return;
      case 'empty':
        return this.#replace(host, undefined);
      case 'backup':
        this.#backups.set(host.id, host.disk.copy());
        return;
      case 'restore':
        return this.#replace(host, this.#backups.get(host.id));
      case 'reset':
        return network.reset(host, ways);
      case 'hangup':
        return network.hangUp(host, ways);
      case 'cut':
        for (const line of lines) line.cut = true;
        return network.reset(host, ways);
      case 'mend':
        return network.mend(host, ways);
      case 'silence':
        for (const line of lines) line.silent = { child: action.child, parent: action.parent };
        return;
      case 'slow':
        for (const line of lines) {
          line.delayMaxMs = action.delayMaxMs;
          line.bufferBytes = action.bufferBytes;
        }
        return;
      case 'thin':
        for (const line of lines) line.bytesPerMs = action.bytesPerSecond / 1_000;
        return;
      case 'double':
        for (const line of lines) line.doubles = action.share;
        return;
      case 'fill':
        host.disk.isFull = true;
        return;
      case 'tidy':
        host.disk.isFull = false;
        return;
      case 'drag':
        for (const one of this.#replicasOf(host)) one.disk.flushMinMs = action.flushMs;
        return;
      case 'jump':
        host.skewMs += action.ms;
        host.skewMaxMs = Math.max(host.skewMaxMs, host.skewMs);
        return;
      case 'lie':
        return this.#replaceProcess(host, { chance: action.chance, atLimits: action.atLimits ?? false });
      case 'truth':
        if (host.liar !== undefined) this.#replaceProcess(host, undefined);
        return;
      case 'clone':
        return this.#clone(host);
      case 'unclone':
        return this.unclone(host.id);
      default:
        return action satisfies never;
    }
  }

  /** The parents whose lines a fault concerns. Some faults concern the line to one of several parents, others concern all lines. */
  #waysOf(host: Host, action: Fault): Host[] {
    const parents = this.#world.parentsOf(host);
    return 'way' in action ? parents.filter(({ replica }) => replica === action.way) : parents;
  }

  #replicasOf({ path }: Host): Host[] {
    return [...this.#world.hosts.values()].filter((host) => host.path === path);
  }

  unclone(id: string): void {
    const clone = this.#world.clones.get(id);
    if (!clone) return;
    clone.wanted = false;
    clone.isGone = true;
    clone.crash(1);
    this.#world.clones.delete(id);
  }

  /** Starts another program, or the product again, with the same disk and identity. */
  #replaceProcess(host: Host, liar: Host['liar']): void {
    if (host.liar !== undefined) host.liarUntilMs = this.#world.nowMs;
    host.liar = liar;
    host.crash(1);
  }

  #replace(host: Host, by: Disk | undefined): void {
    host.crash(1);
    host.disk.replace(by);
    // A machine that is set up again gets the right time. A machine whose clock is behind its old boot counter is refused until then.
    if (!by) host.skewMs = host.skewMaxMs;
    this.#world.replaced(host);
  }

  #clone(host: Host): void {
    if (this.#world.clones.has(host.id)) return;
    const clone = new Host(this.#world, host.planned, {
      disk: host.disk.copy(),
      isClone: true,
      replica: host.replica,
    });
    this.#world.clones.set(host.id, clone);
    clone.config = host.config;
    // The copied disk contains the entries from a liar.
    for (const table of host.deceived) clone.deceived.add(table);
    for (const row of host.outlived) clone.outlived.add(row);
    clone.cloneNumber = this.#clonesMade++;
    clone.start();
  }
}
