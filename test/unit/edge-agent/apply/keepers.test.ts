import { describe, expect, test } from 'vitest';
import type { JsonObject, KubeObject, ObjectMeta } from '../../../../core/object/meta.ts';
import { foreignOwner } from '../../../../edge-agent/apply/keepers.ts';

const ownerOf = (metadata: ObjectMeta) => foreignOwner({ apiVersion: 'v1', kind: 'Service', metadata } as KubeObject);
const instance = { 'app.kubernetes.io/instance': 'tills' };
const lastApplied = 'kubectl.kubernetes.io/last-applied-configuration';
const labelled = { 'f:labels': { 'f:app.kubernetes.io/instance': {} } };
const noted = { 'f:annotations': { '.': {}, [`f:${lastApplied}`]: {} } };
const writtenBy = (manager: string, metadata: JsonObject, operation = 'Update') => [
  { manager, operation, apiVersion: 'v1', fieldsType: 'FieldsV1', fieldsV1: { 'f:metadata': metadata, 'f:spec': {} } },
];

describe('the keeper of an object', () => {
  test('is Argo CD by the label alone if it has applied the object, under both of its names', () => {
    const argo = 'the Argo CD application tills keeps it';
    for (const manager of ['argocd-controller', 'argocd-application-controller']) {
      expect(ownerOf({ labels: instance, managedFields: writtenBy(manager, labelled) })).toBe(argo);
      expect(ownerOf({ labels: instance, managedFields: writtenBy(manager, noted) })).toBe(argo);
    }
    expect(ownerOf({ labels: instance, managedFields: writtenBy('argocd-controller', labelled, 'Apply') })).toBe(argo);
  });

  test('is nobody by a label that charts and people write too', () => {
    expect(ownerOf({ labels: instance })).toBeUndefined();
    for (const manager of ['helm', 'kubectl-client-side-apply', 'argocd-server']) {
      expect(
        ownerOf({ labels: instance, managedFields: writtenBy(manager, { ...labelled, ...noted }) }),
      ).toBeUndefined();
    }
  });

  test('is not Argo CD for its other writes: the status of an Application, a Namespace for others', () => {
    const status = [{ manager: 'argocd-application-controller', operation: 'Update', fieldsV1: { 'f:status': {} } }];
    expect(ownerOf({ labels: instance, managedFields: status })).toBeUndefined();
    expect(ownerOf({ managedFields: writtenBy('argocd-controller', noted) })).toBeUndefined();
    const odd = [{ manager: 'argocd-controller', operation: 'Update', fieldsV1: { 'f:metadata': ['f:labels'] } }];
    expect(ownerOf({ labels: instance, managedFields: odd })).toBeUndefined();
  });

  test('is Argo CD by its own label, and by its annotation before any label', () => {
    const own = { 'argocd.argoproj.io/instance': 'shop' };
    expect(ownerOf({ labels: { ...instance, ...own } })).toBe('the Argo CD application shop keeps it');
    const annotations = { 'argocd.argoproj.io/tracking-id': 'argo_tills:/Service:shop/till' };
    expect(ownerOf({ labels: own, annotations })).toBe('the Argo CD application argo_tills keeps it');
  });

  test('is Flux by its labels, also if it works through Helm or by server-side apply', () => {
    const kustomization = {
      'kustomize.toolkit.fluxcd.io/name': 'apps',
      'kustomize.toolkit.fluxcd.io/namespace': 'flux-system',
    };
    const owner = 'the Flux Kustomization apps in namespace flux-system keeps it';
    expect(ownerOf({ labels: kustomization })).toBe(owner);
    const managedFields = writtenBy('kustomize-controller', {}, 'Apply');
    expect(ownerOf({ labels: kustomization, managedFields })).toBe(owner);
    expect(ownerOf({ managedFields })).toBe('kustomize-controller keeps it by server-side apply');
    const annotations = { 'meta.helm.sh/release-name': 'tills', 'meta.helm.sh/release-namespace': 'shop' };
    const release = { 'helm.toolkit.fluxcd.io/name': 'tills', 'helm.toolkit.fluxcd.io/namespace': 'fleet' };
    expect(ownerOf({ labels: release, annotations })).toBe('the Flux HelmRelease tills in namespace fleet keeps it');
    expect(ownerOf({ annotations })).toBe('the Helm release tills in namespace shop keeps it');
  });

  test('is shown with no more characters than a name can have', () => {
    const owner = ownerOf({ labels: { 'argocd.argoproj.io/instance': 'x'.repeat(10_000) } });
    expect(owner!.length).toBeLessThan(300);
  });
});
