/** Gives every namespace a ServiceAccount `default`, and creates it again if it was deleted. */
import type { GroupResource, ObjectKey } from '../../../../core/object/key.ts';
import type { KubeObject } from '../../../../core/object/meta.ts';
import type { Controller, OwnerWatch } from './controller.ts';
import type { Objects } from './objects.ts';

const serviceAccountResource: GroupResource = { group: '', resource: 'serviceaccounts' };
const namespaceResource: GroupResource = { group: '', resource: 'namespaces' };

const accounts: OwnerWatch = {
  resource: serviceAccountResource,
  concerned: (account) => [{ ...namespaceResource, namespace: '', name: account.metadata.namespace ?? '' }],
};

export class ServiceAccountController implements Controller {
  readonly name = 'service-account-controller';
  readonly resource = namespaceResource;
  readonly watches = [accounts];

  reconcile(_namespace: KubeObject, key: ObjectKey, objects: Objects): undefined {
    const account = { ...serviceAccountResource, namespace: key.name, name: 'default' };
    if (objects.get(account)) return;
    objects.create({
      apiVersion: 'v1',
      kind: 'ServiceAccount',
      metadata: { name: 'default', namespace: key.name },
    });
  }
}
