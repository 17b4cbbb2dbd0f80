/** `banyan why`: whether `spec.delivery` of the Space lets the object leave its space. */
import { type DeliveryBounds, mayDeliver } from '../../core/match/delivery-bounds.ts';
import type { ObjectKey } from '../../core/object/key.ts';
import { BanyanError } from '../../core/runtime/errors.ts';
import type { NodeApiClient } from './api-client.ts';
import { spaceObjects } from './object-paths.ts';

/** Returns why the object may not leave. Undefined: it may, or the user may not read the Space. `space`: `space/center/retail`. */
export async function outsideBounds(
  api: Pick<NodeApiClient, 'get'>,
  space: string,
  key: ObjectKey,
): Promise<string | undefined> {
  const [, node, name] = space.split('/') as [string, string, string];
  const delivery = await deliveryOf(api, `node/${node}`, `${spaceObjects}/${name}`);
  if (mayDeliver(delivery, key)) return undefined;
  const field = key.namespace === '' && key.resource !== 'namespaces' ? 'clusterScoped' : 'namespaces';
  return `the Space ${name} does not let it leave (spec.delivery.${field}: ${JSON.stringify(delivery?.[field])})`;
}

async function deliveryOf(
  api: Pick<NodeApiClient, 'get'>,
  context: string,
  path: string,
): Promise<DeliveryBounds | undefined> {
  try {
    const object = await api.get(context, path);
    return (object?.spec as { delivery?: DeliveryBounds } | undefined)?.delivery;
  } catch (error) {
    // Tenants may not read the Space. Their own writes told them already.
    if (error instanceof BanyanError && error.code === 'Forbidden') return undefined;
    throw error;
  }
}
