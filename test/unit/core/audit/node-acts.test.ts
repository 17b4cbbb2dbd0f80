import { expect, it } from 'vitest';
import type { AuditEvent } from '../../../../core/audit/event.ts';
import { type NodeAct, noteActs, refusalByError } from '../../../../core/audit/node-acts.ts';
import type { AuditPolicy } from '../../../../core/audit/policy.ts';
import { defaultAuditPolicy } from '../../../../core/audit/policy-file.ts';
import { VirtualClock } from '../../../../core/runtime/clock.ts';
import { BanyanError } from '../../../../core/runtime/errors.ts';

function eventsOf(act: NodeAct, policy: AuditPolicy = defaultAuditPolicy): AuditEvent[] {
  const events: AuditEvent[] = [];
  const port = {
    policy,
    bodyBytesMax: 0,
    write: (event: AuditEvent) => void events.push(event),
    refusal: () => undefined,
  };
  noteActs({ port, clock: new VirtualClock(), path: 'eu', newId: () => 'id' })(act);
  return events;
}

it('a refused join has the path, the address and the reason', () => {
  const refused = refusalByError(new BanyanError('Unauthorized', 'not known here'));
  expect(eventsOf({ verb: 'join', about: 'eu:paris', from: '10.0.0.1:4711', refused })).toMatchObject([
    {
      verb: 'join',
      user: { username: 'banyan:node:eu:paris', groups: ['banyan:nodes'] },
      sourceIPs: ['10.0.0.1'],
      objectRef: { resource: 'nodes', apiGroup: 'mesh.banyan.io', name: 'eu:paris' },
      responseStatus: { status: 'Failure', code: 401, reason: 'Unauthorized', message: 'not known here' },
      annotations: { 'banyan.io/place': 'node/eu' },
    },
  ]);
});

it.each([
  ['[fe80::1]:4711', 'fe80::1'],
  ['::ffff:10.0.0.1:4711', '10.0.0.1'],
])('the address %s has no port in the event', (from, shown) => {
  expect(eventsOf({ verb: 'join', about: 'eu:paris', from })[0]?.sourceIPs).toEqual([shown]);
});

it('a path that a stranger chose has a bounded length', () => {
  expect(eventsOf({ verb: 'join', about: 'x'.repeat(100_000) })[0]?.objectRef?.name).toHaveLength(512);
});

it('a policy can leave acts out by their verb', () => {
  const policy: AuditPolicy = { rules: [{ level: 'None', verbs: ['renew'] }, { level: 'Metadata' }] };
  expect(eventsOf({ verb: 'renew', about: 'eu:paris' }, policy)).toEqual([]);
  expect(eventsOf({ verb: 'approve', about: 'eu' }, policy)).toMatchObject([{ responseStatus: { code: 200 } }]);
});
