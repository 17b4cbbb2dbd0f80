import { expect, it } from 'vitest';
import { auditIdOf } from '../../../../core/audit/audit-id.ts';
import { AuditLog } from '../../../../core/audit/audit-log.ts';
import type { AuditEvent } from '../../../../core/audit/event.ts';
import { recordedBody, recordedJson } from '../../../../core/audit/recorded-body.ts';
import { VirtualClock } from '../../../../core/runtime/clock.ts';
import { silentLogger } from '../../../../core/runtime/logger.ts';

function logOf(whenFull: 'refuse' | 'count', lines: { accepts: boolean; trouble?: string; isFilling?: boolean }) {
  const clock = new VirtualClock();
  const errors: object[] = [];
  const log = new AuditLog({
    policy: { rules: [] },
    bodyBytesMax: 10,
    whenFull,
    lines: { write: () => lines.accepts, trouble: lines.trouble, isFilling: lines.isFilling ?? false },
    clock,
    log: { ...silentLogger, error: (fields) => errors.push(fields) },
  });
  return { log, clock, errors };
}

it('counts lost events, and says so once in a minute', () => {
  const { log, clock, errors } = logOf('count', { accepts: false, trouble: 'ENOSPC' });
  for (let event = 0; event < 3; event++) log.write({} as AuditEvent);
  expect(log.lostEvents).toBe(3);
  expect(errors).toEqual([{ lostEvents: 1, reason: 'ENOSPC' }]);
  clock.advance(60_000);
  log.write({} as AuditEvent);
  expect(errors).toHaveLength(2);
});

it('keeps the second half of its queue for changes that the node has made', () => {
  const { log } = logOf('refuse', { accepts: true, trouble: 'ENOSPC', isFilling: true });
  const lostOf = (event: Partial<AuditEvent>, code = 200) => {
    const before = log.lostEvents;
    log.write({ stage: 'ResponseComplete', responseStatus: { metadata: {}, code }, ...event } as AuditEvent);
    return log.lostEvents - before;
  };
  expect(lostOf({ verb: 'create' }, 201)).toBe(0);
  expect(lostOf({ verb: 'get', objectRef: { resource: 'pods', subresource: 'exec' } }, 101)).toBe(0);
  expect(lostOf({ verb: 'create' }, 503)).toBe(1);
  expect(lostOf({ verb: 'create', stage: 'RequestReceived' })).toBe(1);
  expect(lostOf({ verb: 'get', objectRef: { resource: 'pods', subresource: 'log' } })).toBe(1);
  expect(lostOf({ verb: 'list' })).toBe(1);
});

it('refuses changes only where the configuration says so', () => {
  expect(logOf('refuse', { accepts: true, trouble: 'ENOSPC' }).log.refusal()).toContain('ENOSPC');
  expect(logOf('refuse', { accepts: true, isFilling: true }).log.refusal()).toContain('too slowly');
  expect(logOf('refuse', { accepts: true }).log.refusal()).toBeUndefined();
  expect(logOf('count', { accepts: false, trouble: 'ENOSPC' }).log.refusal()).toBeUndefined();
});

it('takes a short id of the client, and makes another one otherwise', () => {
  const fresh = () => 'fresh';
  expect(auditIdOf('0d5c1a5e-7d1f-4c5e-9b67-3d8a51a5d4a3', fresh)).toBe('0d5c1a5e-7d1f-4c5e-9b67-3d8a51a5d4a3');
  for (const bad of [undefined, '', 'a b', 'a\nb', 'x'.repeat(65), ['a', 'b']])
    expect(auditIdOf(bad, fresh)).toBe('fresh');
});

it('cuts bodies that are too large, and takes managed fields out on request', () => {
  const object = { metadata: { name: 'a', managedFields: [1] }, items: [{ metadata: { managedFields: [2] } }] };
  expect(recordedBody(object, 11, 10, false)).toEqual({ cut: '11 bytes, more than bodyBytesMax (10)' });
  expect(recordedBody(object, 10, 10, false)).toEqual({ object });
  expect(recordedBody(object, 10, 10, true)).toEqual({
    object: { metadata: { name: 'a' }, items: [{ metadata: {} }] },
  });
  expect(recordedJson(Buffer.from('a log'), 10, false)).toEqual({ cut: 'no JSON' });
});
