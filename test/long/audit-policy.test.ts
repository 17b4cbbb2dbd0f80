/** The audit policy: a real API server and core/audit write the same events about the same requests. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { requestAttributes } from '../../core/access/attributes.ts';
import { routeOf } from '../../core/apiserver/http/route.ts';
import { type AuditEvent, lasts, objectRefOf } from '../../core/audit/event.ts';
import { type AuditPolicy, type AuditRule, type AuditStage, auditDecision } from '../../core/audit/policy.ts';
import { buildMsMax } from '../e2e/one-site.ts';
import { ApiCaller } from '../support/api-caller.ts';
import { withoutControlPlane } from '../support/control-plane/binaries.ts';
import { ControlPlane } from '../support/control-plane/control-plane.ts';

const missing = withoutControlPlane();
const why = missing ? ` [not run: ${missing}]` : '';

const core = (resources?: string[], resourceNames?: string[]) => ({
  resources: [{ group: '', ...(resources ? { resources } : {}), ...(resourceNames ? { resourceNames } : {}) }],
});

/** Each rule is for a namespace of its own, so that each is tested alone. What no rule of a namespace matches has the level Request. */
const conditions: readonly Omit<AuditRule, 'level'>[] = [
  core(['pods']),
  core(['pods/log']),
  core(['pods/*']),
  core(['*/status']),
  core(['*']),
  core(['*/*']),
  core(),
  core(['pods'], ['p']),
  { resources: [{ group: 'apps' }] },
  { verbs: ['*'] },
  { verbs: ['list'] },
  { verbs: [], users: [], userGroups: [], resources: [] },
  { users: ['admin'], verbs: ['get'] },
  { users: ['*'] },
  { userGroups: ['system:masters', 'none'] },
  { userGroups: ['none'] },
  { verbs: ['get'], omitStages: ['ResponseComplete'] },
];

const policy: AuditPolicy = {
  omitStages: ['ResponseStarted'],
  rules: [
    ...conditions.map((rule, i): AuditRule => ({ level: 'Metadata', namespaces: [`n${i}`], ...rule })),
    { level: 'None', nonResourceURLs: ['/api*', '/version'], verbs: ['get'], omitStages: ['Panic'] },
    { level: 'None', namespaces: [''], resources: [{ group: '', resources: ['nodes'] }] },
    { level: 'Metadata', namespaces: [''] },
    { level: 'Metadata', nonResourceURLs: ['*'] },
    { level: 'Request' },
  ],
};

const inNamespace: readonly string[] = ['pods', 'pods/p', 'pods/q', 'pods/p/log', 'pods/p/status', 'configmaps'];
const lines: readonly string[] = [
  ...conditions.flatMap((_, i) => [
    ...inNamespace.map((rest) => `GET /api/v1/namespaces/n${i}/${rest}`),
    `GET /apis/apps/v1/namespaces/n${i}/deployments`,
    `DELETE /api/v1/namespaces/n${i}/pods/p`,
  ]),
  'GET /api/v1/namespaces/other/pods',
  'GET /api/v1/namespaces/n4',
  'GET /api/v1/namespaces/n99',
  'GET /api/v1/pods',
  'GET /api/v1/pods?fieldSelector=metadata.name=p',
  'GET /api/v1/nodes',
  'GET /api/v1/nodes/a',
  'GET /api/v1/namespaces',
  'GET /version',
  'GET /api',
  'GET /apis/apps/v1',
  'GET /nothing',
  'DELETE /api/v1/namespaces/n0/pods',
];

describe.skipIf(missing)(`audit${why}`, () => {
  const directory = mkdtempSync(join(tmpdir(), 'banyan-audit-'));
  let plane: ControlPlane;
  let api: ApiCaller;
  beforeAll(async () => {
    plane = await ControlPlane.start({ directory, audit: policy });
    api = new ApiCaller(plane.kubeconfig);
  }, buildMsMax);
  afterAll(async () => {
    api?.[Symbol.dispose]();
    await plane?.[Symbol.asyncDispose]();
    rmSync(directory, { recursive: true, force: true });
  });

  /** The events about the user of this test, who alone sends these requests. */
  function real(line: string): AuditEvent[] {
    const [, url] = line.split(' ');
    return readFileSync(join(directory, 'audit.log'), 'utf8')
      .split('\n')
      .filter((text) => text.endsWith('}'))
      .map((text) => JSON.parse(text) as AuditEvent)
      .filter(({ requestURI, user }) => user.username === 'admin' && requestURI === `${url}${marker(line)}`);
  }

  it(`has the same level, stages, verb and object for ${lines.length} requests`, async () => {
    for (const line of lines) {
      const [method = '', url = ''] = line.split(' ');
      await api.call(method, `${url}${marker(line)}`);
    }
    // The last request has events for certain. The server writes events in the order of the requests.
    await api.call('GET', '/nothing?line=last');
    await vi.waitFor(() => expect(readFileSync(join(directory, 'audit.log'), 'utf8')).toContain('line=last'));
    const levels = new Map<string, number>();
    for (const line of lines) {
      const shown = real(line).map(({ level, stage, verb, objectRef }) => ({ level, stage, verb, objectRef }));
      const ours = expected(line);
      expect(shown, line).toEqual(ours);
      const level = ours[0]?.level ?? 'None';
      levels.set(level, (levels.get(level) ?? 0) + 1);
    }
    console.log(JSON.stringify([...levels]));
    for (const level of ['None', 'Metadata', 'Request']) expect(levels.get(level), level).toBeGreaterThan(1);
  });
});

/** Distinguishes the requests in the log. */
function marker(line: string): string {
  return `${line.includes('?') ? '&' : '?'}line=${lines.indexOf(line)}`;
}

function expected(line: string): Pick<AuditEvent, 'level' | 'stage' | 'verb' | 'objectRef'>[] {
  const [method = '', url = ''] = line.split(' ');
  const { pathname: path, searchParams: query } = new URL(url, 'https://localhost');
  const route = routeOf(path);
  const user = { name: 'admin', groups: ['system:masters', 'system:authenticated'] };
  const asked = { method, path, query };
  const attributes = requestAttributes(user, route.type === 'resource' ? { ...asked, route } : asked);
  const { level, omitStages } = auditDecision(policy, attributes);
  if (level === 'None') return [];
  const stages: AuditStage[] = lasts(attributes)
    ? ['RequestReceived', 'ResponseStarted', 'ResponseComplete']
    : ['RequestReceived', 'ResponseComplete'];
  const objectRef = objectRefOf(attributes, route.type === 'resource' ? route.version : undefined);
  return stages
    .filter((stage) => !omitStages.includes(stage))
    .map((stage) => ({ level, stage, verb: attributes.verb, ...(objectRef ? { objectRef } : {}) }));
}
