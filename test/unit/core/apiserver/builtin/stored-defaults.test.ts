/** Objects with few fields, and their form at kube-apiserver 1.34, recorded by test/support/differential/record-defaults.ts. test/long/kubernetes-defaults asks a living one. */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { publicObject } from '../../../../../core/apiserver/http/public-form.ts';
import { parseBody } from '../../../../../core/object/canonical.ts';
import type { KubeObject } from '../../../../../core/object/meta.ts';
import { payloadOf } from '../../../../../relay/spaces/payload.ts';
import { ownSpace, smallObjects } from '../../../../support/differential/answers.ts';
import { storedForm } from '../../../../support/differential/stored-form.ts';

const file = new URL('../../../../fixtures/defaults/stored-forms.json', import.meta.url);
const recorded = JSON.parse(readFileSync(file, 'utf8')) as Record<string, unknown[]>[];

/** Objects that a write changes by more than defaults: a space adds the name of a Namespace, and stores one form of texts and autoscalers. */
const isChanged = ({ apiVersion, kind, stringData }: KubeObject) =>
  kind === 'Namespace' || stringData !== undefined || apiVersion === 'autoscaling/v1';

describe.each(smallObjects.map((object, at) => [object.apiVersion, object.metadata.name!, object, at] as const))(
  '%s %s',
  (_version, _name, object, at) => {
    it('has the defaults of Kubernetes', () => {
      const made = ownSpace().create(object);
      expect(storedForm(publicObject({ hidesGeneration: false }, made))).toEqual(recorded[at]);
    });

    it('travels as it was written, also after a client has read it and written all of it', () => {
      const space = ownSpace();
      const made = space.create(object);
      const travelling = parseBody(payloadOf(made));
      const { status: _status, ...written } = object;
      if (!isChanged(object)) expect(travelling).toEqual(written);
      const again = space.update(publicObject({ hidesGeneration: false }, made));
      expect(parseBody(payloadOf(again))).toEqual(travelling);
      expect(again.metadata.resourceVersion).toBe(made.metadata.resourceVersion);
    });
  },
);
