/** The wave of a release to which a destination belongs, according to the objects at its last hop. */
import { isIn } from '../check/rows.ts';
import type { Change } from '../disk.ts';
import type { Host } from '../host.ts';
import type { Labels } from '../plan/action.ts';
import type { World } from '../world.ts';
import { placeAt } from './expected.ts';
import type { Authorisation } from './releases.ts';
import { position, waveAt } from './waves.ts';

/** Tolerance: a node needs some turns between a change of labels and its effect. */
const slackMs = 2_000;

export class Places {
  readonly #world: World;
  /** The labels of each agent at each last hop, the newest last. */
  readonly #labels = new Map<string, { readonly labels: Labels; readonly fromMs: number }[]>();

  constructor(world: World) {
    this.#world = world;
  }

  committed(host: Host, changes: readonly Change[]): void {
    if (host.role === 'agent' || host.isClone || !changes.some(({ key }) => isIn(key, 'spaceObject'))) return;
    for (const child of this.#world.childrenOf(host)) {
      if (child.role !== 'agent') continue;
      const place = placeAt(this.#world, host, child);
      if (place === undefined || place === 'unknown') continue;
      const { labels } = place;
      const at = `${host.id} ${child.id}`;
      const known = this.#labels.get(at) ?? [];
      this.#labels.set(at, known);
      if (JSON.stringify(known.at(-1)?.labels) === JSON.stringify(labels)) continue;
      known.push({ labels, fromMs: this.#world.nowMs });
    }
  }

  /** The earliest wave to which the agent belongs now or belonged recently at this last hop. Undefined: not known. */
  wave(host: Host, agent: Host, { salt, drawn, rollout }: Authorisation): number | undefined {
    const known = this.#labels.get(`${host.id} ${agent.id}`);
    if (!known || !rollout) return undefined;
    const sinceMs = this.#world.nowMs - slackMs;
    const recent = known.filter((_, index) => (known[index + 1]?.fromMs ?? Number.POSITIVE_INFINITY) >= sinceMs);
    const at = position(salt, agent.path);
    return Math.min(
      ...recent.map(({ labels }) => waveAt(rollout.waves ?? [], { labels, position: at, drawn: drawn ?? [] })),
    );
  }
}
