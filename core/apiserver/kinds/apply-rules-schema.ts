/** The fields of an EdgePlacement for objects that other programs change too. */
import { object, type Properties, string, strings } from './schema-builders.ts';

/** Maximal number of ignored fields. The agent looks up each of them in every object of the placement. */
const ignoredFieldsMax = 32;

export const applyRules: Properties = {
  drift: object(
    'What the agent does if somebody changes or deletes an object on the cluster. In no mode does the agent make a Job or Pod again that had ended before it was deleted, until its spec changes.',
    {
      mode: string(
        'Correct: the agent undoes the change, and makes a deleted object again. Report: the agent leaves the change and reports the difference. Ignore: the agent leaves the change. In any mode, the agent applies a change of the desired object. The default is Correct.',
        { enum: ['Correct', 'Report', 'Ignore'] },
      ),
      ignoredFields: strings(
        'JSONPaths of fields that belong to the cluster once the object exists. Each path leads to one field. If a HorizontalPodAutoscaler or a ScaledObject names the object, .spec.replicas belongs to the cluster without being named here.',
        { maxItems: ignoredFieldsMax },
      ),
    },
  ),
  adopt: string(
    'Whether the agent takes over an object that exists on the cluster already. IfUnowned (the default): if nobody else manages it (a controller, server-side apply, Helm, Flux, Argo CD) and none of its values changes. Always: in any case; an object that the cluster itself keeps only if an item has its name in objectNames. Never: in no case. The object gets its former values back when no placement wants it any more.',
    { enum: ['IfUnowned', 'Always', 'Never'] },
  ),
  replace: string(
    'IfImmutable: if a field that has to change is immutable, the agent deletes the object and creates it again; never a Namespace, a CustomResourceDefinition or a volume. The default is Never.',
    { enum: ['Never', 'IfImmutable'] },
  ),
};
