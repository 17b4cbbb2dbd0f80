import { expect, it } from 'vitest';
import { alarmConditions, reportedCondition } from '../../../../relay/inventory-status/alarm-conditions.ts';

const on = (alarms: Parameters<typeof alarmConditions>[0]) =>
  alarmConditions(alarms).flatMap(({ type, status, message }) => (status === 'True' ? [`${type}: ${message}`] : []));

it('nothing raises an alarm without a cause', () => {
  expect(on({})).toEqual([]);
});

it('a node reports to its parent that its own feed differed, and the parent shows this as its own finding', () => {
  const [reported] = on({
    reportedDiverged: { at: '2030-01-01T10:00:00Z', what: 'upstream: 3 rows here and 4 at the other end' },
  });
  expect(reported).toContain('FeedDiverged: found at 2030-01-01T10:00:00Z and reconciled: upstream: 3 rows');
  const [found] = on({
    diverged: { atMs: 0, what: 'the own' },
    reportedDiverged: { at: '2030-01-01T10:00:00Z', what: 'x' },
  });
  expect(found).toContain('the own');
});

it('a refused copy and a nearly full disk have a remedy', () => {
  const [clone, disk] = on({ cloned: { atMs: 0, what: 'the boot counter is lower' }, diskLow: true });
  expect(clone).toMatch(/CloneRefused: .*1970-01-01.*the boot counter is lower\. Stop the copy/);
  expect(disk).toMatch(/DiskLow: .*nearly full.*Make room/);
});

it('a child that accepts nothing from its parent reports since when and what the parent lacks', () => {
  const [waits] = on({ waits: { since: '2030-01-01T10:00:00Z', for: 'center.retail is at revision 1 there' } });
  expect(waits).toMatch(
    /^WaitsForParent: has accepted nothing from this parent since 2030-01-01T10:00:00Z: center\.retail is at revision 1 there\. It keeps what it has/,
  );
});

it('a cluster that its agent cannot use has a reason, whatever form the agent gives it', () => {
  const trouble = { reason: 'Unauthorized', message: 'the credentials have expired' };
  expect(on({ trouble })).toEqual(['ClusterTrouble: the credentials have expired']);
  const reasons = ['Unauthorized', 'not one', '', '1st'].map(
    (reason) =>
      alarmConditions({ trouble: { ...trouble, reason } }).find(({ type }) => type === 'ClusterTrouble')?.reason,
  );
  expect(reasons).toEqual(['Unauthorized', 'Unknown', 'Unknown', 'Unknown']);
  expect(on({})).toEqual([]);
});

it('an agent whose certificate is not renewed reports its expiry, and the reason', () => {
  const certificateTrouble = {
    reason: 'Forbidden',
    message: 'its certificate ends on Jan 1 and was not renewed: it is a link',
  };
  expect(on({ certificateTrouble })).toEqual([`CertificateTrouble: ${certificateTrouble.message}`]);
});

it('an agent whose work waits for its own limit names the limit', () => {
  const limit = { reason: 'RequestRate', message: 'requestsPerSecond is 4, and requests wait for it' };
  expect(on({ limit })).toEqual([`LimitReached: ${limit.message}`]);
});

it('an agent that may not read all of its cluster names the missing part', () => {
  expect(
    reportedCondition('DescriptionIncomplete', { reason: 'Forbidden', message: 'nodes are not counted' }),
  ).toMatchObject({
    type: 'DescriptionIncomplete',
    status: 'True',
    reason: 'Forbidden',
    message: 'nodes are not counted',
  });
  expect(reportedCondition('DescriptionIncomplete', undefined)).toMatchObject({ status: 'False' });
});
