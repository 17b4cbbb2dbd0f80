/** What counts as a change of a value that no update may change. */
import { describe, expect, it } from 'vitest';
import { checkRules } from '../../../../../../core/apiserver/builtin/rules.ts';
import { builtinType } from '../../../../../../core/apiserver/builtin/types-table.ts';
import { isSameValue } from '../../../../../../core/apiserver/builtin/validation/updates.ts';

const core = (name: string) => ({ type: builtinType(`io.k8s.api.core.v1.${name}`) });
const parameters = builtinType('io.k8s.api.storage.v1.VolumeAttributesClass').field('parameters');

describe('a value is the same', () => {
  it.each([
    ['an absent field and false', { driver: 'a' }, { driver: 'a', readOnly: false }, core('CSIPersistentVolumeSource')],
    ['an absent struct and an empty one', {}, { resources: { requests: {} } }, core('PersistentVolumeClaimSpec')],
    ['an absent list and an empty one', {}, { accessModes: [] }, core('PersistentVolumeClaimSpec')],
    [
      'two texts of one amount',
      { storage: '1Gi' },
      { storage: '1024Mi' },
      core('PersistentVolumeSpec').type.field('capacity'),
    ],
    [
      'two texts of one time',
      { timeAdded: '2024-01-02T03:04:05Z' },
      { timeAdded: '2024-01-02T04:04:05+01:00' },
      core('Taint'),
    ],
  ])('%s', (_, a, b, field) => {
    expect(isSameValue(a, b, field)).toBe(true);
    expect(isSameValue(b, a, field)).toBe(true);
  });
});

describe('a value is another one', () => {
  it.each([
    ['an absent pointer and false', {}, { readOnly: false }, core('AzureDiskVolumeSource')],
    ['an absent pointer and an empty struct', {}, { selector: {} }, core('PersistentVolumeClaimSpec')],
    ['an absent key and an empty text', {}, { speed: '' }, parameters],
    ['two amounts', { storage: '1Gi' }, { storage: '1G' }, core('PersistentVolumeSpec').type.field('capacity')],
    ['a list in another order', ['a', 'b'], ['b', 'a'], undefined],
  ])('%s', (_, a, b, field) => {
    expect(isSameValue(a, b, field)).toBe(false);
    expect(isSameValue(b, a, field)).toBe(false);
  });
});

describe('a Job whose selector an API server has made', () => {
  const labels = {
    'controller-uid': 'u',
    'batch.kubernetes.io/controller-uid': 'u',
    'job-name': 'a',
    'batch.kubernetes.io/job-name': 'a',
  };
  const template = { metadata: { labels }, spec: { restartPolicy: 'Never', containers: [{ name: 'a', image: 'b' }] } };
  const selector = { matchLabels: { 'batch.kubernetes.io/controller-uid': 'u' } };
  const job = (uid: string, spec: object) => ({
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name: 'a', namespace: 'b', uid },
    spec: { template, ...spec },
  });
  const fieldsOf = (next: ReturnType<typeof job>) =>
    checkRules('Job', builtinType('io.k8s.api.batch.v1.Job'), next, job('u', { selector })).map(({ field }) => field);

  it('keeps the selector', () => {
    expect(fieldsOf(job('u', { selector }))).toEqual([]);
    expect(fieldsOf(job('u', {}))).toContain('spec.selector');
  });

  it('has labels with the uid that was sent', () => {
    expect(fieldsOf(job('other', { selector }))).toContain('spec.template.metadata.labels[controller-uid]');
  });
});
