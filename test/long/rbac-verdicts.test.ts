/** RBAC: a real API server and core/access give the same verdicts about the same roles, bindings, requests and writes. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { ClusterRoleRules } from '../../core/access/aggregation.ts';
import {
  type AccessAttributes,
  type Requester,
  requestAttributes,
  reviewedAttributes,
} from '../../core/access/attributes.ts';
import { defaultClusterRoleBindings, defaultClusterRoles } from '../../core/access/default-roles.ts';
import { checkRbacWrite } from '../../core/access/escalation.ts';
import { Rbac, rulesReview } from '../../core/access/rbac.ts';
import {
  type BindingObject,
  type ClusterRoleObject,
  type PolicyRule,
  type RbacKind,
  rbacGroup,
  rbacResource,
} from '../../core/access/rbac-objects.ts';
import { accessRefused } from '../../core/access/refusal.ts';
import { routeOf } from '../../core/apiserver/http/route.ts';
import { invalidObject } from '../../core/apiserver/status-errors.ts';
import type { KubeObject } from '../../core/object/meta.ts';
import { BanyanError, errorTable } from '../../core/runtime/errors.ts';
import { buildMsMax } from '../e2e/one-site.ts';
import { ApiCaller, type CallerAnswer } from '../support/api-caller.ts';
import { builtinCauses } from '../support/builtin-causes.ts';
import { withoutControlPlane } from '../support/control-plane/binaries.ts';
import { ControlPlane } from '../support/control-plane/control-plane.ts';
import { caseNamespaces, type RbacCase, type RbacCaseWrite, rbacCase, writersGroup } from '../support/rbac-cases.ts';
import { aggregationSteps, invalidRbacObjects, requestLines } from '../support/rbac-fixed-cases.ts';

const missing = withoutControlPlane();
const why = missing ? ` [not run: ${missing}]` : '';
const sets = 500;
/** The authorizer and the controllers follow the objects within milliseconds, and later on a busy machine. */
const waiting = { timeout: 60_000, interval: 50 };
const apiPath = `/apis/${rbacGroup}/v1`;
const kinds: readonly RbacKind[] = ['Role', 'ClusterRole', 'RoleBinding', 'ClusterRoleBinding'];

describe.skipIf(missing)(`RBAC${why}`, () => {
  const directory = mkdtempSync(join(tmpdir(), 'banyan-rbac-'));
  let plane: ControlPlane;
  let api: ApiCaller;
  const cases: RbacCase[] = Array.from({ length: sets }, (_, index) => rbacCase(index + 1));
  const rbac = new Rbac();
  /** All objects of the server, by kind, then namespace and name. */
  const objects = new Map<string, KubeObject>();

  beforeAll(async () => {
    plane = await ControlPlane.start({ directory });
    api = new ApiCaller(plane.kubeconfig);
    for (const name of caseNamespaces) {
      await created('/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
    }
    await inParallel([...writersObjects(), ...cases.flatMap(({ roles, bindings }) => [...roles, ...bindings])], (one) =>
      created(urlOf(one), one),
    );
    await vi.waitFor(async () => expect((await read(`${apiPath}/clusterroles/admin`)).rules).toBeTruthy(), waiting);
    await allSeen();
    for (const kind of kinds) {
      const list = await read(`${apiPath}/${rbacResource(kind).resource}`);
      for (const item of list.items as KubeObject[]) {
        const object = { ...item, kind, apiVersion: `${rbacGroup}/v1` };
        rbac.put(object);
        objects.set(idOf(object), object);
      }
    }
  }, buildMsMax);
  afterAll(async () => {
    api?.[Symbol.dispose]();
    await plane?.[Symbol.asyncDispose]();
    rmSync(directory, { recursive: true, force: true });
  });

  async function created(path: string, object: object): Promise<void> {
    const answer = await api.call('POST', path, { body: object });
    expect(answer.status, answer.text).toBe(201);
  }

  async function read(path: string): Promise<Record<string, unknown>> {
    const answer = await api.call('GET', path);
    expect(answer.status, answer.text).toBe(200);
    return JSON.parse(answer.text) as Record<string, unknown>;
  }

  /** Waits until the authorizer has seen all objects. It follows each kind in order, so it has seen everything before the last objects. */
  async function allSeen(): Promise<void> {
    const [namespace] = caseNamespaces;
    for (const isForCluster of [true, false]) {
      const name = isForCluster ? 'last-of-cluster' : 'last-of-namespace';
      const metadata = isForCluster ? { name } : { name, namespace };
      const kind = isForCluster ? 'ClusterRole' : 'Role';
      const rules = [{ verbs: ['see'], apiGroups: [''], resources: [name] }];
      const role = { apiVersion: `${rbacGroup}/v1`, kind, metadata, rules };
      const roleRef = { apiGroup: rbacGroup, kind, name };
      const subjects = [{ kind: 'User', apiGroup: rbacGroup, name }];
      await created(urlOf(role), role);
      await created(urlOf(role, `${kind}Binding`), { ...role, kind: `${kind}Binding`, roleRef, subjects });
      const resourceAttributes = { verb: 'see', resource: name, namespace };
      const isSeen = async () => (await reviewed({ name, groups: [] }, { resourceAttributes })).allowed;
      await vi.waitFor(async () => expect(await isSeen(), name).toBe(true), waiting);
    }
  }

  async function reviewed(
    { name, groups }: Requester,
    request: object,
  ): Promise<{ readonly allowed: boolean; readonly reason?: string }> {
    const body = {
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SubjectAccessReview',
      spec: { user: name, groups, ...request },
    };
    const { status, text } = await api.call('POST', '/apis/authorization.k8s.io/v1/subjectaccessreviews', { body });
    expect(status, text).toBe(201);
    return (JSON.parse(text) as { status: { allowed: boolean; reason?: string } }).status;
  }

  it(`gives the same verdict and reason about the requests of ${sets} sets of roles and bindings`, async () => {
    const reviews = cases.flatMap(({ reviews }) => reviews);
    let allowed = 0;
    await inParallel(reviews, async ({ user, request }) => {
      const real = await reviewed(user, request);
      const attributes = reviewedAttributes(user, request);
      const ours = rbac.decide(attributes);
      const about = JSON.stringify({ user, request });
      expect(ours.allowed, about).toBe(real.allowed);
      if (real.allowed) allowed += 1;
      // If several bindings allow a request, the API server names any of them. Errors about missing roles have no order.
      const reason = real.allowed ? reasonOfOne(real.reason!, attributes) : ours.reason;
      expect(sortedParts(reason), about).toEqual(sortedParts(real.reason ?? ''));
    });
    console.log(`${reviews.length} requests, ${allowed} allowed`);
    expect(allowed).toBeGreaterThan(reviews.length / 5);
    expect(allowed).toBeLessThan((reviews.length * 4) / 5);
  });

  it('gives the same verdict about roles and bindings that a user writes', async () => {
    const writes = cases.flatMap((one) => one.writes);
    const counts = new Map<number, number>();
    await inParallel(writes, async (write) => {
      const real = await written(write);
      const ours = refusalOf(rbac, write);
      const about = JSON.stringify({ write, real });
      const status = real.status < 300 ? 200 : real.status;
      counts.set(status, (counts.get(status) ?? 0) + 1);
      expect(ours ? errorTable[ours.code].http : 200, about).toBe(status);
      if (ours?.code !== 'Forbidden') return;
      const { message } = JSON.parse(real.text) as { message: string };
      expect(withoutResolution(ours.message), about).toBe(withoutResolution(message));
    });
    console.log(`${writes.length} writes: ${JSON.stringify([...counts])}`);
    expect(writes.length).toBeGreaterThan(900);
    for (const status of [200, 403, 404]) expect(counts.get(status), String(status)).toBeGreaterThan(20);
  });

  /** An update has the whole object, as after a GET: the API server compares what it gets with what it has. */
  function written({ user, object, old }: RbacCaseWrite): Promise<CallerAnswer> {
    const path = `${urlOf(object)}?dryRun=All`;
    if (!old) return api.call('POST', path, { body: object, as: user });
    const metadata = { ...objects.get(idOf(old))!.metadata, ...object.metadata };
    return api.call('PUT', path.replace('?', `/${metadata.name}?`), { body: { ...object, metadata }, as: user });
  }

  it('gives the same rules about a user', async () => {
    for (const { reviews } of cases.slice(0, 50)) {
      const { user } = reviews[0]!;
      const [namespace] = caseNamespaces;
      const body = { apiVersion: 'authorization.k8s.io/v1', kind: 'SelfSubjectRulesReview', spec: { namespace } };
      const path = '/apis/authorization.k8s.io/v1/selfsubjectrulesreviews';
      const as = { ...user, groups: [...new Set([...user.groups, 'system:authenticated'])] };
      const { status, text } = await api.call('POST', path, { body, as });
      expect(status, text).toBe(201);
      const real = (JSON.parse(text) as { status: Parameters<typeof shownReview>[0] }).status;
      expect(shownReview(rulesReview(rbac.rulesOf(as, namespace)))).toEqual(shownReview(real));
    }
  });

  it('makes the same attributes from a request, and the same refusal', async () => {
    const joe = { name: 'j<o&e>', groups: ['system:authenticated'] };
    for (const [method, url] of requestLines) {
      const { pathname, searchParams } = new URL(url, 'https://localhost');
      const route = routeOf(pathname);
      const line = { method, path: decodeURIComponent(pathname), query: searchParams };
      const attributes = requestAttributes(joe, route.type === 'resource' ? { ...line, route } : line);
      const real = await api.call(method, url, { as: joe });
      const about = `${method} ${url}: ${real.text}`;
      expect(real.status, about).toBe(403);
      const { message } = method === 'HEAD' ? { message: undefined } : (JSON.parse(real.text) as { message: string });
      if (message !== undefined) expect(accessRefused(attributes, '').message, about).toBe(message);
    }
  });

  it('refuses the same invalid objects, with the same messages', async () => {
    for (const object of invalidRbacObjects) {
      const answer = await api.call('POST', urlOf(object), { body: object });
      expect(answer.status, answer.text).toBe(422);
      const causes = builtinCauses(object);
      const { message } = invalidObject({ group: rbacGroup, kind: object.kind }, object.metadata.name!, causes);
      const { message: real } = JSON.parse(answer.text) as { message: string };
      expect(sortedParts(message)).toEqual(sortedParts(real));
    }
  });

  it('gives aggregated roles the same rules, in the same order, after each change', async () => {
    const ours = new ClusterRoleRules();
    const present = new Map<string, ClusterRoleObject>();
    for (const { name, role } of aggregationSteps) {
      const path = `${apiPath}/clusterroles`;
      const isNew = !present.has(name);
      if (role === undefined) {
        present.delete(name);
        ours.remove(name);
        await api.call('DELETE', `${path}/${name}`);
      } else {
        present.set(name, role);
        ours.put(role);
        const { status, text } = await api.call(isNew ? 'POST' : 'PUT', isNew ? path : `${path}/${name}`, {
          body: role,
        });
        expect(status, text).toBeLessThan(300);
      }
      const names = [...present.keys()];
      const expected = names.map((one) => [one, shownRules(ours.rulesOf(one))]);
      const rulesOf = async (one: string) => (await read(`${path}/${one}`)).rules as PolicyRule[];
      const real = () => Promise.all(names.map(async (one) => [one, shownRules(await rulesOf(one))]));
      await vi.waitFor(async () => expect(await real(), name).toEqual(expected), waiting);
    }
  });

  it('begins with the same roles and bindings', async () => {
    const ours = new ClusterRoleRules();
    for (const role of defaultClusterRoles) if (!role.metadata.name!.startsWith('banyan:')) ours.put(role);
    for (const { metadata, aggregationRule } of defaultClusterRoles) {
      if (metadata.name!.startsWith('banyan:')) continue;
      const real = (await read(`${apiPath}/clusterroles/${metadata.name}`)) as unknown as ClusterRoleObject;
      expect(shownRules(ours.rulesOf(metadata.name!)!), metadata.name).toEqual(shownRules(real.rules));
      expect([metadata.labels, metadata.annotations]).toEqual([real.metadata.labels, real.metadata.annotations]);
      expect(aggregationRule).toEqual(real.aggregationRule);
    }
    for (const { metadata, roleRef, subjects } of defaultClusterRoleBindings) {
      if (metadata.name!.startsWith('banyan:')) continue;
      const real = (await read(`${apiPath}/clusterrolebindings/${metadata.name}`)) as unknown as BindingObject;
      expect([roleRef, subjects]).toEqual([real.roleRef, real.subjects]);
    }
  });

  /** Our reason, if the binding that the API server names were the only one. */
  function reasonOfOne(reason: string, attributes: AccessAttributes): string {
    const [, kind = '', shown = ''] = /allowed by (\w+) "([^"]*)"/.exec(reason) ?? [];
    const [name = '', namespace = ''] = shown.split('/');
    const binding = objects.get(`${kind} ${namespace}/${name}`) as BindingObject;
    const { roleRef } = binding;
    const alone = new Rbac();
    alone.put(objects.get(`${roleRef.kind} ${roleRef.kind === 'Role' ? namespace : ''}/${roleRef.name}`)!);
    alone.put(binding);
    return alone.decide(attributes).reason;
  }
});

function idOf({ kind, metadata }: KubeObject): string {
  return `${kind} ${metadata.namespace ?? ''}/${metadata.name}`;
}

/** Everybody in the group may send writes of RBAC objects. */
function writersObjects(): KubeObject[] {
  const name = writersGroup;
  const rule = {
    verbs: ['create', 'update'],
    apiGroups: [rbacGroup],
    resources: kinds.map((kind) => rbacResource(kind).resource),
  };
  const role = { apiVersion: `${rbacGroup}/v1`, kind: 'ClusterRole', metadata: { name }, rules: [rule] };
  const roleRef = { apiGroup: rbacGroup, kind: 'ClusterRole', name };
  return [
    role,
    { ...role, kind: 'ClusterRoleBinding', roleRef, subjects: [{ kind: 'Group', apiGroup: rbacGroup, name }] },
  ];
}

function urlOf({ kind, metadata }: KubeObject, other = kind): string {
  const { resource } = rbacResource(other as RbacKind);
  return metadata.namespace ? `${apiPath}/namespaces/${metadata.namespace}/${resource}` : `${apiPath}/${resource}`;
}

function refusalOf(rbac: Rbac, { user, object, old }: RbacCaseWrite): BanyanError | undefined {
  try {
    checkRbacWrite(rbac, { user, object, ...(old ? { old } : {}), requestName: old ? object.metadata.name! : '' });
    return undefined;
  } catch (error) {
    if (error instanceof BanyanError) return error;
    throw error;
  }
}

/** A text with a list in brackets, in an order that does not depend on the order of the list. */
function sortedParts(reason: string): string[] {
  return reason.split(/, |[[\]]/).sort();
}

/** The errors at the end name the resource that is written, where ours name the missing role. */
function withoutResolution(message: string): string {
  return message.split('; resolution errors: ')[0]!;
}

/** Lists without names, and missing lists, are the same. */
function shownRules(rules: readonly PolicyRule[] | null | undefined): unknown[] {
  const lists = ({ verbs, apiGroups, resources, resourceNames, nonResourceURLs }: PolicyRule) =>
    [verbs, apiGroups, resources, resourceNames, nonResourceURLs].map((list) => list ?? []);
  return (rules ?? []).map(lists);
}

/** The bindings of a user have no order at the API server. */
function shownReview({
  resourceRules,
  nonResourceRules,
  incomplete,
  evaluationError = '',
}: {
  readonly resourceRules: readonly PolicyRule[];
  readonly nonResourceRules: readonly PolicyRule[];
  readonly incomplete: boolean;
  readonly evaluationError?: string;
}): unknown[] {
  const sorted = (rules: readonly PolicyRule[]) =>
    shownRules(rules)
      .map((rule) => JSON.stringify(rule))
      .sort();
  return [sorted(resourceRules), sorted(nonResourceRules), incomplete, sortedParts(evaluationError)];
}

/** Runs at most 8 at the same time, as many as the client has connections. */
async function inParallel<T>(items: readonly T[], run: (item: T) => Promise<void>): Promise<void> {
  const rest = items.values();
  await Promise.all(
    Array.from({ length: 8 }, async () => {
      for (const item of rest) await run(item);
    }),
  );
}
