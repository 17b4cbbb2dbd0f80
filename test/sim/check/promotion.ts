/**
 * Invariant 13 at the origin: waves follow one after the other. Each begins after the gates of the previous wave have passed, and a release is promoted after
 * its last wave.
 */
import type { Host } from '../host.ts';
import { absent, type OriginState, type Releases, stagedId } from '../model/releases.ts';
import { type RolloutWritten, waveCount } from '../model/waves.ts';
import { stagedName } from '../plan/rollouts.ts';
import type { Check, World } from '../world.ts';

interface Written {
  readonly spec?: { readonly rollout?: RolloutWritten };
  readonly status?: { readonly phase?: string };
}

type Read = (host: Host, space: string, resource: string, name: string) => Written | undefined;

/** `read` returns the objects that people have written. */
export function promotion(world: World, releases: Releases, read: Read = readFromSpace): Check {
  const name = 'a release goes through its waves in order, and is promoted after the last';
  return {
    name,
    committed(host, _changes, before) {
      if (host.isClone) return;
      for (const space of host.planned.spaces) {
        const id = stagedId(host, space);
        const [former, present] = [releases.at(before, id), releases.now(host, id)];
        const why =
          former.release === present.release
            ? undefined
            : whyNot((resource, name) => read(host, space, resource, name), former, present);
        if (why) world.violation(name, `${host.title}: release ${present.release?.release} of ${id} ${why}`);
      }
    },
  };
}

/** Compares two successive rows of one release. */
function whyNot(
  read: (resource: string, name: string) => Written | undefined,
  former: OriginState,
  present: OriginState,
): string | undefined {
  const [from, to] = [former.release, present.release];
  if (!from || !to || from.held === 0 || from.release !== to.release) return undefined;
  const rollout = read('edgeplacements', stagedName)?.spec?.rollout;
  if (!rollout) return undefined;
  const isPromoted = to.held === 0;
  if (isPromoted && isSame(former.promoted, present.current)) return undefined;
  if (!isPromoted && to.wave === from.wave) return undefined;
  if (!isPromoted && to.wave !== from.wave + 1) return `goes from wave ${from.wave} to ${to.wave}`;
  if (isPromoted && from.wave !== waveCount(rollout) - 1) return `is promoted at wave ${from.wave}`;
  if (from.halted) return `continues from wave ${from.wave} while it is halted`;
  for (const { rolloutGate } of rollout.waves?.[from.wave]?.gates ?? []) {
    const phase = rolloutGate && read('rolloutgates', rolloutGate)?.status?.phase;
    if (rolloutGate && phase !== 'Passed') return `passes the gate of wave ${from.wave}, which says ${phase}`;
  }
  return undefined;
}

function isSame(a: ReadonlyMap<string, string>, b: ReadonlyMap<string, string>): boolean {
  return [...new Set([...a.keys(), ...b.keys()])].every((key) => (a.get(key) ?? absent) === (b.get(key) ?? absent));
}

function readFromSpace(host: Host, space: string, resource: string, name: string): Written | undefined {
  return host.spaces.get(space)?.get({ group: 'edge.banyan.io', resource, namespace: '', name }) as Written | undefined;
}
