/**
 * Invariant 11 for reports about single objects, after healing. If a placement asks for exact status and has one destination, the status of its object equals
 * the status at the destination. The aggregated status of a Deployment says that it is ready exactly when its placement is Ready. Each object created at the edge is reported unchanged to the node that asked for it.
 */
import { stableStringify } from '../../../core/object/canonical.ts';
import { health } from '../../../core/object/health.ts';
import type { Condition, KubeObject } from '../../../core/object/meta.ts';
import type { Host } from '../host.ts';
import { type Expectation, list, type ModelPlacement } from '../model/expected.ts';
import { parentOf, sourceOf } from '../plan/tree.ts';
import type { World } from '../world.ts';
import { Rows } from './rows.ts';

interface Asked {
  readonly wantSingletonReportedState?: boolean;
  readonly upsync?: readonly { readonly namespaces: readonly string[]; readonly returnTo?: 'Parent' | 'Center' }[];
}

/** Checks a placement whose agents are all reached. Undefined: the reports are right. */
export function reportsWrong(world: World, model: Expectation, placement: ModelPlacement): string | undefined {
  return (
    statusesWrong(world, placement) ?? aggregatesWrong(world, model, placement) ?? bornWrong(world, model, placement)
  );
}

function statusesWrong(world: World, { host, space, object, agents, delivered }: ModelPlacement): string | undefined {
  const { wantSingletonReportedState = false } = object.spec as Asked;
  const origin = host.spaces.get(space);
  if (!wantSingletonReportedState || !origin) return undefined;
  const [path] = agents;
  const cluster = agents.length === 1 ? world.hosts.get(path!)?.spaces.get('') : undefined;
  for (const made of delivered.map((one) => one.object)) {
    const key = origin.keyOf(made);
    const reported = countsOf(origin.get(key));
    const there = cluster && countsOf(cluster.get(key));
    if (stableStringify(reported ?? null) === stableStringify(there ?? null)) continue;
    const title = `${host.title}/${space} ${made.metadata.name} of ${object.metadata.name}`;
    return `${title} has the status ${stableStringify(reported ?? null)}, ${agents.length === 1 ? `at ${path} it` : 'with several places it'} is ${stableStringify(there ?? null)}`;
  }
  return undefined;
}

/** Deployments that another placement brings to other destinations are not compared: their status is about those too. */
function aggregatesWrong(world: World, model: Expectation, placement: ModelPlacement): string | undefined {
  const { host, space, object, agents, delivered } = placement;
  const origin = host.spaces.get(space);
  if (!origin || (object.spec as Asked).wantSingletonReportedState || agents.length === 0) return undefined;
  const { conditions = [] } = (origin.get(origin.keyOf(object))?.status ?? {}) as { conditions?: Condition[] };
  const isReady = conditions.some(({ type, status }) => type === 'Ready' && status === 'True');
  for (const { object: made } of delivered) {
    if (made.kind !== 'Deployment' || isElsewhere(model, placement, made)) continue;
    const key = origin.keyOf(made);
    const isShownReady = isCurrent(origin.get(key));
    const isReadyThere = agents.every((path) => isCurrent(world.hosts.get(path)?.spaces.get('')?.get(key)));
    const title = `${host.title}/${space} ${made.metadata.name} of ${object.metadata.name}`;
    if (isReady && !isShownReady) return `${title} is not shown as ready, and its placement is Ready`;
    if (isShownReady && !isReadyThere) return `${title} is shown as ready, and it is not ready everywhere`;
  }
  return undefined;
}

function isElsewhere(model: Expectation, { host, space, agents }: ModelPlacement, made: KubeObject): boolean {
  const isSame = (one: KubeObject) =>
    one.kind === made.kind &&
    one.metadata.name === made.metadata.name &&
    one.metadata.namespace === made.metadata.namespace;
  return model.placements.some(
    (other) =>
      other.host === host &&
      other.space === space &&
      other.delivered.some((one) => isSame(one.object)) &&
      other.agents.some((path) => !agents.includes(path)),
  );
}

/** An object without a status is not ready. */
function isCurrent(object: KubeObject | undefined): boolean {
  return object?.status !== undefined && health(object).state === 'Current';
}

/** The counts of pods in the status, and whether the status is about the newest generation. Undefined: the object has no status. */
function countsOf(object: KubeObject | undefined): object | undefined {
  const { status } = (object ?? {}) as { status?: Record<string, unknown> };
  if (!status || Object.keys(status).length === 0) return undefined;
  const { replicas, readyReplicas, availableReplicas, observedGeneration } = status;
  return { replicas, readyReplicas, availableReplicas, isNewest: observedGeneration === object?.metadata.generation };
}

function bornWrong(world: World, model: Expectation, { host, space, agents }: ModelPlacement): string | undefined {
  const placements = model.placements.filter((one) => one.host === host && one.space === space);
  const reported = reportedAt(host, `up/${sourceOf(host.planned, space)}/`);
  for (const path of agents) {
    const rules = placements.flatMap((one) =>
      one.agents.includes(path) ? ((one.object.spec as Asked).upsync ?? []) : [],
    );
    const arriving = rules.filter(({ returnTo }) => returnTo === 'Center' || parentOf(path) === host.path);
    const born = bornAt(
      world.hosts.get(path)!,
      arriving.flatMap(({ namespaces }) => namespaces),
    );
    const shownThere = new Map(reported.filter((one) => one.path === path).map(({ key, data }) => [key, data]));
    const title = `${host.title} has of what was born at ${path}`;
    if (shown(shownThere) !== shown(born)) return `${title} ${shown(shownThere)}, there it is ${shown(born)}`;
  }
  return undefined;
}

function bornAt(agent: Host, namespaces: readonly string[]): Map<string, string> {
  const all = list(agent.spaces.get('')!, { group: '', resource: 'configmaps' });
  const asked = all.filter(({ metadata }) => namespaces.includes(metadata.namespace ?? ''));
  return new Map(asked.map((one) => [`/configmaps/${one.metadata.namespace}/${one.metadata.name}`, dataOf(one)]));
}

interface ReportedObject {
  readonly path: string;
  /** The key of the object's status. */
  readonly key: string;
  readonly data: string;
}

/** The reports in the rows of a node, from any child. */
function reportedAt(host: Host, begin: string): ReportedObject[] {
  return Rows.of(host.rows, (rows) =>
    [...rows.tables().values()]
      .filter((table) => table.startsWith('reported/'))
      .flatMap((table) => [...rows.bodies(table, begin)])
      .map(([key, body]) => {
        const rest = key.slice(begin.length);
        const end = rest.indexOf('/');
        return { path: rest.slice(0, end), key: rest.slice(end + 1), data: dataOf(JSON.parse(body) as KubeObject) };
      }),
  );
}

function dataOf(object: KubeObject): string {
  return stableStringify((object as KubeObject & { data?: unknown }).data ?? null);
}

function shown(objects: ReadonlyMap<string, string>): string {
  return (
    [...objects]
      .map(([key, data]) => `${key} ${data}`)
      .sort()
      .join(', ') || 'nothing'
  );
}
