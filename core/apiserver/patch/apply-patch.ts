/** Applies one of the three patches of the Kubernetes API that do not use field ownership. */

import type { JsonObject, KubeObject } from '../../object/meta.ts';
import { BanyanError } from '../../runtime/errors.ts';
import { isRecord } from '../../runtime/is-record.ts';
import { goTypeOf } from '../decoding.ts';
import type { ObjectType } from '../schema.ts';
import type { Patch } from '../space.ts';
import { badRequest } from '../status-errors.ts';
import { applyJsonPatch } from './json-patch.ts';
import { mergePatch } from './merge-patch.ts';
import { strategicMergePatch } from './strategic-merge-patch.ts';

/**
 * Returns the patched object. Does not change `object`. `schema` is absent for custom kinds, which have no strategic merge patch. The result may be any
 * JSON value: the caller must check that it is still an object.
 */
export function applyPatch(patch: Patch, object: KubeObject, schema: ObjectType | undefined): unknown {
  switch (patch.type) {
    case 'json':
      return applyJsonPatch(object, patch.operations);
    case 'merge':
      return mergePatch(object, checked(patch.patch, 'error decoding patch: '));
    case 'strategic':
      if (!schema) throw new BanyanError('UnsupportedMediaType', unsupported);
      return strategicMergePatch(object, checked(patch.patch, ''), schema);
  }
}

/** Checks that the patch is an object. It comes from a request body, which may be any value. Null is a strategic merge patch that changes nothing, as in Kubernetes. */
function checked(patch: JsonObject | null, before: string): JsonObject {
  if (isRecord(patch)) return patch;
  if (patch === null && before === '') return {};
  if (patch === null) throw badRequest('Invalid JSON Patch');
  throw badRequest(`${before}json: cannot unmarshal ${goTypeOf(patch)} into Go value of type map[string]interface {}`);
}

const unsupported =
  'the body of the request was in an unknown format - accepted media types include: application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml';
