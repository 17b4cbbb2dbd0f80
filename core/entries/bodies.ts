/** Schemas of the bodies that nodes parse. Relays pass on most bodies as bytes, without parsing them. Agents parse the objects that they apply. */
import * as z from 'zod';
import { selector, texts, wave } from './shapes.ts';

const bare = z.looseObject({});

export const kubeObject = z.looseObject({
  apiVersion: z.string(),
  kind: z.string(),
  metadata: z.looseObject({
    name: z.string(),
    namespace: z.string().optional(),
    labels: texts.optional(),
    annotations: texts.optional(),
  }),
});

/** A Customizer or a StatusSummarizer. */
export const auxiliaryObject = kubeObject.extend({ spec: bare });

export const placementBody = z.looseObject({
  spec: z.looseObject({
    locationSelectors: z.array(selector).optional(),
    locationExpression: z.string().optional(),
    rollout: z.looseObject({ strategy: z.string(), waves: z.array(wave).optional() }).optional(),
  }),
});

const ruleItem = z.looseObject({
  apiGroup: z.string().optional(),
  resources: z.array(z.string()).optional(),
  namespaces: z.array(z.string()).optional(),
  names: z.array(z.string()).optional(),
  labelSelectors: z.array(selector).optional(),
});
export const reportRules = z.looseObject({
  associated: z.array(ruleItem.extend({ limit: z.number() })),
  upsync: z.array(ruleItem),
});

export const inventoryBody = z.looseObject({ syncTarget: kubeObject, locations: z.array(kubeObject) });
