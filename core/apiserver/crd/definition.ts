/**
 * The CustomResourceDefinition of apiextensions.k8s.io/v1: only the fields that a space supports.
 * https://kubernetes.io/docs/reference/kubernetes-api/extend-resources/custom-resource-definition-v1/
 */
import type { Condition, Json, JsonObject, KubeObject, ObjectMeta } from '../../object/meta.ts';

export interface CustomResourceDefinition {
  apiVersion: 'apiextensions.k8s.io/v1';
  kind: 'CustomResourceDefinition';
  metadata: ObjectMeta;
  spec: DefinitionSpec;
  status?: DefinitionStatus;
  [field: string]: unknown;
}

export interface DefinitionSpec {
  group: string;
  scope: 'Namespaced' | 'Cluster';
  names: DefinitionNames;
  versions: DefinitionVersion[];
  conversion?: { strategy?: string; webhook?: ConversionWebhook };
  preserveUnknownFields?: boolean;
}

/** A space never calls the webhook. The API server of an edge cluster does. */
export interface ConversionWebhook {
  clientConfig?: {
    url?: string;
    service?: { name?: string; namespace?: string; path?: string; port?: number };
    caBundle?: string;
  };
  conversionReviewVersions?: string[];
}

export interface DefinitionNames {
  plural: string;
  kind: string;
  singular?: string;
  listKind?: string;
  shortNames?: string[];
  categories?: string[];
}

export interface DefinitionVersion {
  name: string;
  served: boolean;
  storage: boolean;
  deprecated?: boolean;
  deprecationWarning?: string;
  schema?: { openAPIV3Schema?: SchemaProps };
  subresources?: {
    status?: JsonObject;
    scale?: { specReplicasPath: string; statusReplicasPath: string; labelSelectorPath?: string };
  };
  additionalPrinterColumns?: DefinitionColumn[];
  selectableFields?: { jsonPath: string }[];
}

export interface DefinitionColumn {
  name: string;
  type: string;
  jsonPath: string;
  format?: string;
  description?: string;
  priority?: number;
}

export interface DefinitionStatus {
  acceptedNames?: DefinitionNames;
  conditions?: Condition[];
  storedVersions?: string[];
}

/** The part of OpenAPI v3 that a CustomResourceDefinition may use. Kubernetes calls the type JSONSchemaProps. */
export interface SchemaProps {
  type?: string;
  format?: string;
  title?: string;
  description?: string;
  nullable?: boolean;
  default?: Json;
  example?: Json;
  enum?: Json[];
  minimum?: number | bigint;
  maximum?: number | bigint;
  exclusiveMinimum?: boolean;
  exclusiveMaximum?: boolean;
  multipleOf?: number | bigint;
  minLength?: number | bigint;
  maxLength?: number | bigint;
  pattern?: string;
  minItems?: number | bigint;
  maxItems?: number | bigint;
  uniqueItems?: boolean;
  minProperties?: number | bigint;
  maxProperties?: number | bigint;
  required?: string[];
  items?: SchemaProps;
  properties?: Record<string, SchemaProps>;
  additionalProperties?: SchemaProps | boolean;
  allOf?: SchemaProps[];
  anyOf?: SchemaProps[];
  oneOf?: SchemaProps[];
  not?: SchemaProps;
  externalDocs?: JsonObject;
  'x-kubernetes-preserve-unknown-fields'?: boolean;
  'x-kubernetes-embedded-resource'?: boolean;
  'x-kubernetes-int-or-string'?: boolean;
  'x-kubernetes-list-type'?: 'atomic' | 'set' | 'map';
  'x-kubernetes-list-map-keys'?: string[];
  'x-kubernetes-map-type'?: 'atomic' | 'granular';
  'x-kubernetes-validations'?: ValidationRule[];
}

export interface ValidationRule {
  rule: string;
  message?: string;
  messageExpression?: string;
  reason?: string;
  fieldPath?: string;
  optionalOldSelf?: boolean;
}

export function schemaOf(version: DefinitionVersion): SchemaProps {
  return version.schema?.openAPIV3Schema ?? { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
}

export const crdResource = { group: 'apiextensions.k8s.io', resource: 'customresourcedefinitions' } as const;

/** Checks only the kind, because stored objects have already passed admission. */
export function isDefinition(object: KubeObject): object is CustomResourceDefinition {
  return object.kind === 'CustomResourceDefinition' && object.apiVersion === 'apiextensions.k8s.io/v1';
}
