/**
 * Admits an agent that runs elsewhere: makes the agent's SyncTarget and Location at each replica of its parent. `banyan enroll` and `banyan join-token` both
 * begin with this.
 */
import { nameOf, parentOf, shownPath } from '../../core/identity/node-path.ts';
import type { KubeObject } from '../../core/object/meta.ts';
import { cliCommand } from '../../core/runtime/cli-command.ts';
import { BanyanError } from '../../core/runtime/errors.ts';
import type { NodeApiClient } from './api-client.ts';
import { nodeContexts } from './node-contexts.ts';
import { nodeObject } from './object-paths.ts';
import { UsageError } from './usage-error.ts';

export interface AdmissionRequest {
  /** `eu:paris:store-17` */
  readonly path: string;
  /** Labels of the agent's Location. */
  readonly labels: Readonly<Record<string, string>>;
  /** Whether the agent was admitted before. */
  readonly again: boolean;
}

/** The command in warnings about replicas that did not answer. The person repeats this command when they answer. */
export type AdmittingCommand = 'enroll' | 'join-token';

const apiVersion = 'inventory.banyan.io/v1alpha1';
const inventory = `/apis/${apiVersion}`;

export type Api = Pick<NodeApiClient, 'contexts' | 'get' | 'apply'>;

/** The objects that an agent needs at each replica of its parent. */
interface AdmissionObjects {
  readonly target: KubeObject;
  readonly location: KubeObject | undefined;
}

export interface Admitted {
  /** The replicas that answered, each with the SyncTarget of the agent, or the Node object of the relay. */
  readonly replicas: readonly { readonly context: string; readonly owner: KubeObject }[];
  /** Contexts of the replicas that did not answer. */
  readonly silent: readonly string[];
}

/** The objects with the agent's name at one replica of the parent. */
interface ReplicaAdmission {
  readonly context: string;
  readonly target: KubeObject | undefined;
  readonly location: KubeObject | undefined;
  /** Present if a node already has the name. */
  readonly node: KubeObject | undefined;
}

/**
 * Checks that the agent can be admitted, and returns the function that admits it. Throws Conflict if any replica already has the name, and NotFound if the
 * agent should have been admitted before and was not. Before the returned function is called, nothing is made. The returned function makes the missing
 * objects at each replica, warns about replicas that do not answer, and returns the agent's SyncTarget at each of the others.
 */
export async function admission(
  api: Api,
  command: AdmittingCommand,
  { path, labels, again }: AdmissionRequest,
  warn: (line: string) => void,
): Promise<() => Promise<Admitted>> {
  const [relay] = nodeContexts(api.contexts(), path);
  if (relay !== undefined) throw relayNotAgent(path, relay);
  const contexts = nodeContexts(api.contexts(), parentOf(path));
  if (contexts.length === 0) {
    const context = `node/${shownPath(parentOf(path))}`;
    throw new BanyanError(
      'NotFound',
      `the kubeconfig has no ${context}: the parent of an agent is a relay of the tree`,
    );
  }
  const silent = new Map<string, string>();
  const replicas = contexts.map((context) => ({ context }));
  const places = await useEach(replicas, silent, ({ context }) => placeAt(api, context, path));
  const first = places.find(({ target, location }) => target && location) ?? places.find(({ target }) => target);
  const relayAt = places.find(({ node }) => (node?.spec as { role?: string } | undefined)?.role === 'Relay');
  if (relayAt) throw relayNotAgent(path, relayAt.context);
  const takenAt = first ?? places.find(({ node }) => node);
  if (again && !first) throw notAdmitted(path, contexts, silent);
  if (!again && takenAt) throw nameTaken(path, takenAt);
  const objects = first?.target ? copyOfPlace(first.target, first.location) : placeOf(path, labels);
  return async () => {
    const replicas = await useEach(places, silent, async (place) => ({
      context: place.context,
      owner: await admit(api, place, objects),
    }));
    return admittedAt(path, { replicas, silent }, cliCommand(command, path, '--again'), warn);
  };
}

/** Warns about the replicas that did not answer. `again`: the command that admits the node there later. */
export function admittedAt(
  path: string,
  { replicas, silent }: { readonly replicas: Admitted['replicas']; readonly silent: ReadonlyMap<string, string> },
  again: string,
  warn: (line: string) => void,
): Admitted {
  for (const [context, reason] of silent) {
    warn(`${path} is not admitted at ${context}, and can't fail over to it (${reason}); when it answers: ${again}`);
  }
  return { replicas, silent: [...silent.keys()] };
}

/** Calls `use` for each replica. Adds replicas that do not answer to `silent`. If no replica answers, throws the error of the last one. */
export async function useEach<Replica extends { readonly context: string }, T>(
  replicas: readonly Replica[],
  silent: Map<string, string>,
  use: (replica: Replica) => Promise<T>,
): Promise<T[]> {
  const results: T[] = [];
  let last: BanyanError | undefined;
  for (const replica of replicas) {
    try {
      results.push(await use(replica));
    } catch (error) {
      if (!(error instanceof BanyanError && error.code === 'Unavailable')) throw error;
      last = error;
      silent.set(replica.context, error.message);
    }
  }
  if (last && results.length === 0) throw last;
  return results;
}

async function placeAt(api: Api, context: string, path: string): Promise<ReplicaAdmission> {
  const name = nameOf(path);
  const [target, location, node] = await Promise.all([
    api.get(context, `${inventory}/synctargets/${name}`),
    api.get(context, `${inventory}/locations/${name}`),
    api.get(context, nodeObject(path)),
  ]);
  return { context, target, location, node };
}

function placeOf(path: string, labels: Readonly<Record<string, string>>): AdmissionObjects {
  const object = (kind: string) => ({ apiVersion, kind, metadata: { name: nameOf(path), labels }, spec: {} });
  return { target: object('SyncTarget'), location: object('Location') };
}

/** Copies the objects of another replica. Used for a replica that did not answer when the agent was admitted. */
function copyOfPlace(target: KubeObject, location: KubeObject | undefined): AdmissionObjects {
  return { target: copyOf(target), location: location && copyOf(location) };
}

function copyOf({ kind, metadata, spec = {} }: KubeObject): KubeObject {
  return { apiVersion, kind, metadata: { name: metadata.name ?? '', labels: metadata.labels ?? {} }, spec };
}

/** Makes the missing objects. Returns the SyncTarget. */
async function admit(
  api: Api,
  { context, target, location }: ReplicaAdmission,
  objects: AdmissionObjects,
): Promise<KubeObject> {
  const make = (object: KubeObject) =>
    api.apply(context, `${inventory}/${object.kind.toLowerCase()}s/${object.metadata.name}`, object);
  const syncTarget = target ?? (await make(objects.target));
  if (!location && objects.location) {
    // A person who deletes the SyncTarget removes the agent from the tree. The owner reference removes the Location as well.
    const { name = '', uid = '' } = syncTarget.metadata;
    const ownerReferences = [{ apiVersion, kind: 'SyncTarget', name, uid }];
    await make({ ...objects.location, metadata: { ...objects.location.metadata, ownerReferences } });
  }
  return syncTarget;
}

function relayNotAgent(path: string, where: string): UsageError {
  const remedy = `name an agent right below a relay, such as ${path}:store-17; relays are added in the topology, or join with a token: ${cliCommand('join-token', '--relay', path)}`;
  return new UsageError(
    `the path "${path}" is that of a relay (${where}), and only an agent is admitted here: ${remedy}`,
  );
}

function nameTaken(path: string, { context, target }: ReplicaAdmission): BanyanError {
  const remedy = target
    ? '--again to admit the same agent once more'
    : `remove the node that was never admitted: ${cliCommand('remove', path, '--orphan')}`;
  return new BanyanError('Conflict', `"${path}" is taken at ${context}: choose another name, or ${remedy}`);
}

function notAdmitted(path: string, contexts: readonly string[], silent: ReadonlyMap<string, string>): BanyanError {
  const answering = contexts.filter((context) => !silent.has(context)).join(', ');
  const away = silent.size === 0 ? '' : ` (${[...silent.keys()].join(', ')} can't be asked)`;
  const message = `--again: there is no "${path}" at ${answering}${away}: leave it out to admit the agent`;
  return new BanyanError('NotFound', message);
}
