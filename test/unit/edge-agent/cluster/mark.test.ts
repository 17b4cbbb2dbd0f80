import { describe, expect, test } from 'vitest';
import type { KubeObject } from '../../../../core/object/meta.ts';
import { marked, signatureOf, signed } from '../../../../edge-agent/cluster/mark.ts';

const object: KubeObject = { apiVersion: 'v1', kind: 'Service', metadata: { name: 'till', annotations: { a: '1' } } };
const asApplied = (one: KubeObject, manager = 'banyan', operation: 'Apply' | 'Update' = 'Apply'): KubeObject => ({
  ...one,
  metadata: { ...one.metadata, managedFields: [{ manager, operation }] },
});

describe('the mark of an agent on an object', () => {
  const sent = signed(marked(object, 'center.retail'), 'eu:shop', false);

  test('is read from the applied fields, beside everything that came with the object', () => {
    expect(sent.metadata.annotations).toMatchObject({ a: '1' });
    expect(signatureOf(asApplied(sent))).toEqual({ agent: 'eu:shop', source: 'center.retail', created: false });
    const container = signed(marked(object, 'center.retail'), 'eu:shop', true);
    expect(signatureOf(asApplied(container))?.created).toBe(true);
    const orphaned = signed(marked(object, 'center.retail'), 'eu:shop', false, { deletion: 'Orphan' });
    expect(signatureOf(asApplied(orphaned))?.deletion).toBe('Orphan');
    const usual = signed(marked(object, 'center.retail'), 'eu:shop', false, { deletion: 'Background' });
    expect(usual).toEqual(sent);
  });

  test('is absent if a controller has copied labels and annotations to an object of its own', () => {
    expect(signatureOf(asApplied(sent, 'kube-controller-manager', 'Update'))).toBeUndefined();
    expect(signatureOf(asApplied(sent, 'banyan', 'Update'))).toBeUndefined();
    expect(signatureOf(sent)).toBeUndefined();
  });

  test('is absent if it does not name the agent', () => {
    expect(signatureOf(asApplied(marked(object, 'center.retail')))).toBeUndefined();
  });
});
