/** The fields of an EdgePlacement for objects that other programs change too. */
import { object, type Properties, string, strings } from './schema-builders.ts';

/** Maximal number of ignored fields. The agent looks up each of them in every object of the placement. */
const ignoredFieldsMax = 32;

export const applyRules: Properties = {
  drift: object(
    'What the agent does if somebody changes an object on the cluster. In any mode, the agent makes a deleted object again.',
    {
      mode: string(
        'Correct: the agent undoes the change. Report: the agent leaves the change and reports the difference. Ignore: the agent leaves the change. In any mode, the agent applies a change of the desired object. The default is Correct.',
        { enum: ['Correct', 'Report', 'Ignore'] },
      ),
      ignoredFields: strings(
        'JSONPaths of fields that belong to the cluster once the object exists, such as .spec.replicas under an autoscaler. Each path leads to one field.',
        { maxItems: ignoredFieldsMax },
      ),
    },
  ),
  adopt: string(
    'Whether the agent takes over an object that exists on the cluster already. IfUnowned (the default): if nobody else manages it (a controller, server-side apply, Helm, Flux, Argo CD). Always: in any case. Never: in no case.',
    { enum: ['IfUnowned', 'Always', 'Never'] },
  ),
  replace: string(
    'IfImmutable: if a field that has to change is immutable, the agent deletes the object and creates it again; never a Namespace, a CustomResourceDefinition or a volume. The default is Never.',
    { enum: ['Never', 'IfImmutable'] },
  ),
};
