import { describe, expect, it } from 'vitest';
import { type AdoptRule, type DriftMode, defaultRules } from '../../../../core/entries/apply-rules.ts';
import type { KubeObject, ObjectMeta } from '../../../../core/object/meta.ts';
import { type DesiredObject, decide as decideOf, decideRemoval } from '../../../../edge-agent/apply/decide.ts';
import { withoutFields } from '../../../../edge-agent/apply/ignored-fields.ts';
import type { OwnerRecord } from '../../../../edge-agent/apply/owner-records.ts';
import { fingerprint } from '../../../../edge-agent/apply/projection.ts';
import { marked, signed } from '../../../../edge-agent/cluster/mark.ts';

const object: KubeObject = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' }, data: { a: '1' } };
const wanted: DesiredObject = {
  source: 'center.retail',
  bodyHash: 'h1',
  uid: '33333333-0000',
  former: ['11111111', '22222222'],
  createOnly: false,
  rules: defaultRules,
  object,
  named: false,
  isOnlyNeeded: false,
};
const ours: KubeObject = { ...marked(object, 'center.retail') };
ours.metadata.uid = 'u1';
const record: OwnerRecord = {
  source: 'center.retail',
  bodyHash: 'h1',
  uid: 'u1',
  fingerprint: fingerprint(ours, ours),
  created: true,
  origin: '33333333',
};
const decide = (of: DesiredObject, on: OwnerRecord | undefined, live: KubeObject | undefined) =>
  decideOf(of, on, live, 'eu:shop');
const byBanyan = { manager: 'banyan', operation: 'Apply' };
/** An object that an agent has applied, with another manager beside. */
const signedBy = (agent: string, beside: ObjectMeta['managedFields'] = []): KubeObject => {
  const { metadata, ...rest } = signed(ours, agent, false);
  return { ...rest, metadata: { ...metadata, managedFields: [...beside, byBanyan] } };
};
const foreign = (metadata: ObjectMeta = {}): KubeObject => ({
  ...object,
  metadata: { name: 'a', uid: 'u2', ...metadata },
});

describe('the decision about a wanted object', () => {
  it('is to apply it if it is not there, and to keep it if it is as it was applied', () => {
    expect(decide(wanted, undefined, undefined)).toEqual({ do: 'apply', created: true });
    expect(decide(wanted, record, ours)).toEqual({ do: 'keep' });
  });

  it('is to apply it if content, source, uid or the live object differ', () => {
    expect(decide({ ...wanted, bodyHash: 'h2' }, record, ours).do).toBe('apply');
    expect(decide({ ...wanted, source: 'eu.ops' }, record, ours).do).toBe('apply');
    expect(decide(wanted, { ...record, uid: 'u0' }, ours).do).toBe('apply');
    expect(decide(wanted, record, { ...ours, data: { a: '2' } }).do).toBe('apply');
  });

  it('is to mark it again if it is to be removed in another way', () => {
    const live = signedBy('eu:shop');
    const known = { ...record, fingerprint: fingerprint(ours, live) };
    expect(decide({ ...wanted, deletion: 'Background' }, known, live)).toEqual({ do: 'keep' });
    expect(decide({ ...wanted, deletion: undefined }, known, live)).toEqual({ do: 'keep' });
    const decision = { do: 'apply', created: true, onlySignature: true };
    expect(decide({ ...wanted, deletion: 'Orphan' }, known, live)).toEqual(decision);
  });

  it('is to wait while it is being deleted', () => {
    expect(decide(wanted, record, foreign({ deletionTimestamp: 'now' })).do).toBe('wait');
  });

  it('is to replace it if the space has deleted the applied object and made it anew, in any mode', () => {
    const live = signedBy('eu:shop');
    const former = { ...record, origin: '22222222' };
    expect(decide(wanted, former, live)).toEqual({ do: 'renew' });
    expect(decide(wanted, { ...former, origin: '11111111' }, live)).toEqual({ do: 'renew' });
    expect(decide({ ...wanted, createOnly: true }, former, live)).toEqual({ do: 'renew' });
    for (const drift of ['Ignore', 'Report'] as const) {
      expect(decide({ ...wanted, rules: { ...defaultRules, drift } }, former, live)).toEqual({ do: 'renew' });
    }
  });

  it('is not to replace it if nothing shows that the space has deleted the applied object', () => {
    const known = { ...record, fingerprint: fingerprint(ours, ours) };
    const cases: [string, OwnerRecord, KubeObject][] = [
      ['the same object', { ...known, origin: '33333333' }, ours],
      ['an unknown object: the space may have lost its store', { ...known, origin: '99999999' }, ours],
      ['a record without the uid', known, ours],
      ['a record about another object of the cluster', { ...known, origin: '22222222', uid: 'u9' }, ours],
      ['an object of another source', { ...known, origin: '22222222', source: 'eu.ops' }, ours],
      ['an object of another agent', { ...known, origin: '22222222' }, signedBy('us:rivoli')],
    ];
    for (const [what, on, live] of cases) expect(decide(wanted, on, live).do, what).not.toBe('renew');
    const again = { ...wanted, former: ['33333333'] };
    expect(decide(again, { ...known, origin: '33333333' }, ours)).toEqual({ do: 'keep' });
  });

  it('is to refuse an object that a controller or another applier keeps, unless it has the mark or a record', () => {
    const applier = [{ manager: 'argocd', operation: 'Apply' }];
    const owner = [{ apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'x', uid: 'y' }];
    expect(decide(wanted, undefined, foreign({ managedFields: applier }))).toMatchObject({ reason: 'NotOwned' });
    expect(decide(wanted, undefined, foreign({ ownerReferences: owner }))).toMatchObject({ reason: 'NotOwned' });
    expect(decide(wanted, { ...record, uid: 'u2' }, foreign({ managedFields: applier })).do).toBe('apply');
    expect(decide(wanted, undefined, signedBy('eu:shop', applier)).do).toBe('apply');
  });

  it('is to refuse an object with the mark of another agent, and to name that agent, with or without a record', () => {
    const message = 'the object exists and is not taken over: the agent us:rivoli has applied it';
    const refusal = { do: 'refuse', reason: 'NotOwned', message: `${message} (spec.adopt: Always would take it)` };
    expect(decide(wanted, undefined, signedBy('us:rivoli'))).toEqual(refusal);
    expect(decide(wanted, { ...record, agent: 'eu:shop' }, signedBy('us:rivoli'))).toEqual(refusal);
    const never = { ...wanted, rules: { ...defaultRules, adopt: 'Never' as const } };
    expect(decide(never, undefined, signedBy('us:rivoli'))).toMatchObject({
      do: 'refuse',
      message: expect.stringMatching(/Never, and the agent us:rivoli has applied it$/),
    });
    const always = { ...wanted, rules: { ...defaultRules, adopt: 'Always' as const } };
    expect(decide(always, undefined, signedBy('us:rivoli'))).toEqual({
      do: 'apply',
      created: false,
      takesOver: 'overwriting',
    });
  });

  it('is to recognise its own objects without a record, and under its former path with a record', () => {
    const never = { ...wanted, bodyHash: 'h2', rules: { ...defaultRules, adopt: 'Never' as const } };
    expect(decide(never, undefined, signedBy('eu:shop')).do).toBe('apply');
    expect(decide(never, { ...record, agent: 'eu:old' }, signedBy('eu:old')).do).toBe('apply');
    expect(decide(never, undefined, signedBy('eu:old')).do).toBe('refuse');
  });

  it('is not to claim an object that a controller made with copied labels', () => {
    const owner = [{ apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'x', uid: 'y' }];
    const copied = { ...ours, metadata: { ...ours.metadata, ownerReferences: owner } };
    expect(decide(wanted, undefined, copied)).toMatchObject({ reason: 'NotOwned' });
  });

  it('is to refuse an object that Helm or Argo CD keeps, and to name the keeper, except for its own objects with such an annotation', () => {
    const helm = { 'meta.helm.sh/release-name': 'tills', 'meta.helm.sh/release-namespace': 'shop' };
    const argo = { 'argocd.argoproj.io/tracking-id': 'argo_tills:apps/Deployment:shop/till' };
    expect(decide(wanted, undefined, foreign({ annotations: helm }))).toMatchObject({
      reason: 'NotOwned',
      message: expect.stringContaining('the Helm release tills in namespace shop keeps it (spec.adopt: Always'),
    });
    expect(decide(wanted, undefined, foreign({ annotations: argo }))).toMatchObject({
      reason: 'NotOwned',
      message: expect.stringContaining('the Argo CD application argo_tills keeps it'),
    });
    const own = signedBy('eu:shop');
    Object.assign(own.metadata.annotations!, helm, argo);
    expect(decide(wanted, undefined, own).do).toBe('apply');
    expect(decide(wanted, { ...record, uid: 'u2' }, foreign({ annotations: helm })).do).toBe('apply');
  });

  it('is to take over an object that somebody applied with kubectl, such as a Namespace that was made before', () => {
    const annotations = { 'kubectl.kubernetes.io/last-applied-configuration': '{}' };
    expect(decide(wanted, undefined, foreign({ annotations })).do).toBe('apply');
  });

  it('is to take over an object that nobody keeps, without a change of its values and without calling it created', () => {
    const edited = foreign({ managedFields: [{ manager: 'kubectl', operation: 'Update' }] });
    expect(decide(wanted, undefined, edited)).toEqual({ do: 'apply', created: false, takesOver: 'yielding' });
  });

  it('follows spec.adopt if the object exists and has another owner', () => {
    const argo = foreign({ managedFields: [{ manager: 'argocd', operation: 'Apply' }] });
    const adopt = (rule: AdoptRule, live: KubeObject) =>
      decide({ ...wanted, rules: { ...defaultRules, adopt: rule } }, undefined, live);
    expect(adopt('IfUnowned', argo)).toMatchObject({ do: 'refuse', reason: 'NotOwned' });
    expect(adopt('Always', argo)).toEqual({ do: 'apply', created: false, takesOver: 'overwriting' });
    expect(adopt('Never', foreign())).toMatchObject({ do: 'refuse', message: expect.stringContaining('Never') });
    expect(adopt('Never', signedBy('eu:shop')).do).toBe('apply');
  });

  it('follows spec.drift if somebody has changed the object, and applies new content in any mode', () => {
    const edited: KubeObject = { ...ours, data: { a: '2' } };
    const drift = (mode: DriftMode, of: Partial<DesiredObject> = {}) =>
      decide({ ...wanted, ...of, rules: { ...defaultRules, drift: mode } }, record, edited).do;
    expect(drift('Correct')).toBe('apply');
    expect(drift('Report')).toBe('compare');
    expect(drift('Ignore')).toBe('keep');
    expect(drift('Ignore', { bodyHash: 'h2' })).toBe('apply');
    expect(decide({ ...wanted, rules: { ...defaultRules, drift: 'Ignore' } }, record, undefined).do).toBe(
      'leaveAbsent',
    );
  });

  it('does not compare fields that belong to the cluster', () => {
    const edited: KubeObject = { ...ours, data: { a: '2' } };
    const rules = { ...defaultRules, ignored: ['.data.a'] };
    const noted = { ...record, fingerprint: fingerprint(withoutFields(ours, rules.ignored), ours) };
    expect(decide({ ...wanted, rules }, noted, edited).do).toBe('keep');
    expect(decide({ ...wanted, rules }, noted, { ...edited, metadata: { ...ours.metadata, labels: {} } }).do).toBe(
      'apply',
    );
  });

  it('is nothing if the object was only to be created and exists', () => {
    expect(decide({ ...wanted, createOnly: true }, undefined, foreign()).do).toBe('keep');
    expect(decide({ ...wanted, createOnly: true }, undefined, undefined).do).toBe('apply');
  });
});

describe('the decision about an object that is no longer wanted', () => {
  const plain = { agent: 'eu:shop', isContainer: false };

  it('is to remove it by its uid if record and mark agree', () => {
    expect(decideRemoval(record, ours, plain)).toEqual({ do: 'remove', uid: 'u1' });
  });

  it("is to remove it by this agent's mark if the cluster has not answered, and to leave an object of another agent", () => {
    const unanswered = { ...record, uid: '' };
    expect(decideRemoval(unanswered, signedBy('eu:shop'), plain)).toEqual({ do: 'remove', uid: 'u1' });
    expect(decideRemoval(unanswered, signedBy('us:shop'), plain)).toEqual({ do: 'forget' });
    expect(decideRemoval(unanswered, ours, plain)).toEqual({ do: 'forget' });
  });

  it('is only to forget it if another agent has marked it since, but not if that was this agent under its former path', () => {
    expect(decideRemoval({ ...record, agent: 'eu:shop' }, signedBy('us:shop'), plain)).toEqual({ do: 'forget' });
    expect(decideRemoval({ ...record, agent: 'eu:old' }, signedBy('eu:old'), plain).do).toBe('remove');
  });

  it('is only to forget it if it is gone, was replaced, or has lost the mark', () => {
    expect(decideRemoval(record, undefined, plain)).toEqual({ do: 'forget' });
    expect(decideRemoval({ ...record, uid: 'u0' }, ours, plain)).toEqual({ do: 'forget' });
    expect(decideRemoval(record, foreign({ uid: 'u1' }), plain)).toEqual({ do: 'forget' });
  });

  it('is to give it back if it existed before, and to keep what holds other objects if these are to stay', () => {
    const container = { ...plain, isContainer: true };
    expect(decideRemoval({ ...record, created: false }, ours, container)).toEqual({ do: 'release' });
    expect(decideRemoval({ ...record, created: false }, ours, plain)).toEqual({ do: 'release' });
    expect(decideRemoval({ ...record, deletion: 'Orphan' }, ours, container)).toEqual({ do: 'release' });
    expect(decideRemoval({ ...record, deletion: 'Orphan' }, ours, plain).do).toBe('remove');
  });
});
