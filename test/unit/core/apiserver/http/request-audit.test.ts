/** The audit events of an API server: who, what, where, with which end. */
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Authorizer } from '../../../../../core/access/authorizer.ts';
import type { AuditEvent } from '../../../../../core/audit/event.ts';
import type { AuditPolicy } from '../../../../../core/audit/policy.ts';
import { ApiBench, answerOf, type Sent } from './api-bench.ts';

const maps = '/api/v1/namespaces/default/configmaps';
const map = (name: string, data = 'x') => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name },
  data: { key: data },
});

const policy: AuditPolicy = {
  omitStages: ['RequestReceived'],
  rules: [
    { level: 'None', verbs: ['delete'] },
    { level: 'RequestResponse', resources: [{ group: '', resources: ['configmaps'] }], omitManagedFields: true },
    { level: 'Metadata', omitStages: [] },
  ],
};

/** Everything is allowed but requests for Secrets. */
const authorizer: Authorizer = {
  decide: (attributes) => {
    const allowed = !('resource' in attributes && attributes.resource === 'secrets');
    return { allowed, reason: allowed ? 'RBAC: allowed by "all"' : 'no Secrets' };
  },
  rulesAt: () => ({ rules: [], missing: [] }),
  reaches: () => true,
};

describe('the audit of requests', () => {
  let bench: ApiBench;
  let refusal: string | undefined;
  let present = policy;
  const events: AuditEvent[] = [];

  beforeAll(async () => {
    const port = {
      get policy() {
        return present;
      },
      bodyBytesMax: 2_000,
      write: (event: AuditEvent) => void events.push(JSON.parse(JSON.stringify(event)) as AuditEvent),
      refusal: () => refusal,
    };
    bench = await ApiBench.start({ authorizer, audit: { port, newId: () => 'made-here' } });
    const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'default' } };
    await bench.call('POST', '/api/v1/namespaces', { body: namespace });
  });
  afterAll(() => bench[Symbol.asyncDispose]());
  beforeEach(() => {
    events.length = 0;
    refusal = undefined;
    present = policy;
  });

  async function eventOf(method: string, path: string, sent?: Sent): Promise<AuditEvent> {
    await bench.call(method, path, sent);
    await vi.waitFor(() => expect(events).toHaveLength(1));
    return events[0]!;
  }

  it('have user, object, place, decision and bodies, without managed fields', async () => {
    const event = await eventOf('POST', maps, { body: map('one') });
    expect(event).toMatchObject({
      kind: 'Event',
      apiVersion: 'audit.k8s.io/v1',
      level: 'RequestResponse',
      auditID: 'made-here',
      stage: 'ResponseComplete',
      requestURI: maps,
      verb: 'create',
      user: { username: 'jo', groups: expect.arrayContaining(['system:masters']) },
      sourceIPs: ['127.0.0.1'],
      objectRef: { resource: 'configmaps', namespace: 'default', apiVersion: 'v1' },
      responseStatus: { metadata: {}, code: 201 },
      requestObject: map('one'),
      responseObject: { kind: 'ConfigMap', metadata: { name: 'one' } },
      annotations: {
        'authorization.k8s.io/decision': 'allow',
        'authorization.k8s.io/reason': 'RBAC: allowed by "all"',
        'banyan.io/place': 'node/center',
      },
    });
    expect(JSON.stringify(event)).not.toContain('managedFields');
    expect(event.stageTimestamp).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
  });

  it('have an annotation instead of a body that is too large', async () => {
    const event = await eventOf('POST', maps, { body: map('large', 'x'.repeat(3_000)) });
    expect(event).not.toHaveProperty('requestObject');
    expect(event).not.toHaveProperty('responseObject');
    expect(event.annotations).toMatchObject({
      'banyan.io/request-body-cut': expect.stringMatching(/^3\d{3} bytes, more than bodyBytesMax \(2000\)$/),
      'banyan.io/response-body-cut': expect.stringContaining('more than bodyBytesMax'),
    });
  });

  it('never have a body that may hold a Secret or a token, and say so', async () => {
    const [secret, text] = ['four-seven-one-one', 'may have the content of a Secret or a token'];
    const body = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 's' }, stringData: { pin: secret } };
    present = { omitStages: ['RequestReceived'], rules: [{ level: 'RequestResponse' }] };
    const asked: readonly (readonly [string, object])[] = [
      ['/api/v1/namespaces/default/secrets', body],
      [maps, body],
      ['/apis/authentication.k8s.io/v1/tokenreviews', { kind: 'TokenReview', spec: { token: secret } }],
      ['/spaces/retail/plan', { objects: [body] }],
    ];
    for (const [path, sent] of asked) {
      events.length = 0;
      const event = await eventOf('POST', path, { body: sent });
      expect(JSON.stringify(event)).not.toContain(secret);
      expect([path, event.annotations?.['banyan.io/request-body-cut']]).toEqual([path, text]);
    }
    events.length = 0;
    const broken = await eventOf('POST', '/apis/authentication.k8s.io/v1/tokenreviews', {
      body: '{"spec":{"token":four-seven-one-one}}',
    });
    expect(broken.responseStatus).toEqual({ metadata: {}, code: 400 });
  });

  it('have the list that the client got, and nothing for a rule with the level None', async () => {
    await bench.call('DELETE', `${maps}/large`);
    const event = await eventOf('GET', maps);
    expect(event).toMatchObject({
      verb: 'list',
      responseObject: { kind: 'ConfigMapList', items: [expect.anything()] },
    });
  });

  it('say why a request was refused, and what the client read', async () => {
    const event = await eventOf('GET', '/api/v1/namespaces/default/secrets/s');
    expect(event).toMatchObject({
      level: 'Metadata',
      objectRef: { resource: 'secrets', name: 's' },
      responseStatus: {
        status: 'Failure',
        reason: 'Forbidden',
        code: 403,
        message: expect.stringContaining('no Secrets'),
      },
      annotations: { 'authorization.k8s.io/decision': 'forbid', 'authorization.k8s.io/reason': 'no Secrets' },
    });
  });

  it('have both users of an impersonated request, and the id of the client', async () => {
    const headers = { 'impersonate-user': 'eve', 'impersonate-group': 'ops', 'audit-id': 'from-outside' };
    const stream = bench.open('GET', '/version', headers, true);
    let answered: unknown;
    stream.once('response', (head) => {
      answered = head['audit-id'];
    });
    await answerOf(stream);
    await vi.waitFor(() => expect(events).toHaveLength(1));
    expect(answered).toBe('from-outside');
    expect(events[0]).toMatchObject({
      auditID: 'from-outside',
      user: { username: 'jo' },
      impersonatedUser: { username: 'eve', groups: ['ops', 'system:authenticated'] },
    });
    expect(events[0]).not.toHaveProperty('objectRef');
  });

  it('have the start and the end of a watch', async () => {
    const stream = bench.open('GET', `${maps}?watch=1`, {}, true);
    stream.on('error', () => {});
    await vi.waitFor(() => expect(events.map(({ stage }) => stage)).toEqual(['ResponseStarted']));
    stream.close();
    await vi.waitFor(() => expect(events.map(({ stage }) => stage)).toEqual(['ResponseStarted', 'ResponseComplete']));
    expect(events[1]).toMatchObject({ verb: 'watch', responseStatus: { code: 200 } });
  });

  it('refuses changes while the log cannot be written, and serves reads', async () => {
    refusal = "the audit log can't be written: ENOSPC";
    const answer = await bench.call('POST', maps, { body: map('two') });
    expect(answer.status).toBe(503);
    expect(answer.text).toContain('ENOSPC');
    expect((await bench.call('GET', maps)).status).toBe(200);
    // kubectl begins a stream into a Pod with GET.
    const pod = '/api/v1/namespaces/default/pods/till';
    expect((await bench.call('GET', `${pod}/exec?command=id`)).status).toBe(503);
    expect((await bench.call('GET', `${pod}/log`)).status).toBe(404);
    // The space of this test does not have the kind. The system space of a node does.
    const revocations = '/apis/mesh.banyan.io/v1alpha1/revocations';
    const statusOf = async (method: string, path: string) => (await bench.call(method, path, { body: {} })).status;
    expect([await statusOf('POST', revocations), await statusOf('DELETE', revocations)]).toEqual([404, 503]);
    refusal = undefined;
    expect((await bench.call('GET', `${maps}/two`)).status).toBe(404);
  });
});

it('a request without a user is in the log with its refusal', async () => {
  const events: AuditEvent[] = [];
  const port = {
    policy: { rules: [{ level: 'None' as const }] },
    bodyBytesMax: 0,
    write: (event: AuditEvent) => void events.push(event),
    refusal: () => undefined,
  };
  await using bench = await ApiBench.start({ certificate: false, audit: { port, newId: () => 'id' } });
  expect((await bench.call('GET', maps)).status).toBe(401);
  await vi.waitFor(() => expect(events).toHaveLength(1));
  expect(events[0]).toMatchObject({ level: 'Metadata', verb: 'get', user: {}, responseStatus: { code: 401 } });
});
