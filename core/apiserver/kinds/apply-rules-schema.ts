/** What an EdgePlacement says of objects that others touch too. */
import { object, type Properties, string, strings } from './schema-builders.ts';

/** Each is looked up in every object of the placement. */
const ignoredFieldsMax = 32;

export const applyRules: Properties = {
  drift: object(
    'What becomes of an object that somebody changes where it is. One that is deleted there is made again in any mode.',
    {
      mode: string(
        'Correct puts it back, Report leaves it and says what differs, Ignore leaves it. A change of what is wanted is applied in any mode. Correct if left out.',
        { enum: ['Correct', 'Report', 'Ignore'] },
      ),
      ignoredFields: strings(
        "JSONPaths of fields that are the cluster's own once the object is there, such as .spec.replicas under an autoscaler; each leads to one field.",
        { maxItems: ignoredFieldsMax },
      ),
    },
  ),
  adopt: string(
    'Whether an object that exists there already is taken over: IfUnowned (if left out) takes one that nobody else manages (a controller, server-side apply, Helm, Flux, Argo CD), Always takes any, Never none.',
    { enum: ['IfUnowned', 'Always', 'Never'] },
  ),
  replace: string(
    'IfImmutable removes and makes anew an object of which a field that is to change can not be changed; never a Namespace, a CustomResourceDefinition or a volume. Never if left out.',
    { enum: ['Never', 'IfImmutable'] },
  ),
};
