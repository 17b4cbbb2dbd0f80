import { describe, expect, it } from 'vitest';
import type { KubeObject } from '../../../../core/object/meta.ts';
import { wholeObject } from '../../../../edge-agent/observe/whole-object.ts';

const till = (more: object): KubeObject => ({
  apiVersion: 'shop.example/v1',
  kind: 'Till',
  metadata: { name: 'one', resourceVersion: '1' },
  ...more,
});

describe('an object that is reported whole', () => {
  it('is unchanged while only its version, or a time of the last probe in its status, differs', () => {
    const before = wholeObject(till({ status: { conditions: [{ type: 'Ready', lastHeartbeatTime: 'then' }] } }));
    const now = till({ status: { conditions: [{ type: 'Ready', lastHeartbeatTime: 'now' }] } });
    expect(wholeObject({ ...now, metadata: { name: 'one', resourceVersion: '2' } }, before)).toBe(before);
  });

  it.each(['spec', 'data'])('has changed if somebody has written a field of such a name in its %s', (field) => {
    const before = wholeObject(till({ [field]: { lastUpdateTime: 'then' } }));
    const now = wholeObject(till({ [field]: { lastUpdateTime: 'now' } }), before);
    expect(now).not.toBe(before);
    expect(JSON.parse(Buffer.from(now.body).toString('utf8'))[field]).toEqual({ lastUpdateTime: 'now' });
  });
});
