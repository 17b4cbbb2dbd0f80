/**
 * The file that says which issuers of OpenID Connect a node trusts, in the format of kube-apiserver
 * (https://kubernetes.io/docs/reference/access-authn-authz/authentication/#using-authentication-configuration). Expressions are compiled when the file is
 * read, so a mistake ends the start of the node and not the sign-in of a person.
 */
import * as z from 'zod';
import { certificatesIn } from '../identity/pem-certificates.ts';
import { type CelProgram, type CelType, compileCel } from '../match/cel/cel.ts';
import { CelError } from '../match/cel/cel-error.ts';
import { parseConfig } from '../runtime/config-file.ts';

const ofClaims: Readonly<Record<string, CelType>> = { claims: 'dyn' };
const ofUser: Readonly<Record<string, CelType>> = { user: 'dyn' };

/** An expression over the claims of a token, or over the user that the claims name. */
function expression(variables: Readonly<Record<string, CelType>>, result?: 'bool') {
  return z.string().transform((source, context): CelProgram => {
    try {
      return compileCel(source, variables, result, 'kubernetes');
    } catch (error) {
      if (!(error instanceof CelError)) throw error;
      context.addIssue({ code: 'custom', message: `${JSON.stringify(source)}: ${error.message}` });
      return z.NEVER;
    }
  });
}

const httpsUrl = z.string().refine((text) => URL.canParse(text) && new URL(text).protocol === 'https:', {
  error: 'write a URL that begins with https://',
});
const exactlyOne = (first: string, second: string) => ({ error: `write exactly one of ${first} and ${second}` });
const isOne = (a: unknown, b: unknown) => (a === undefined) !== (b === undefined);

/** A claim with a prefix, or an expression. Kubernetes requires the prefix, because a claim may have the name of a user of another origin. */
const prefixed = z
  .strictObject({
    claim: z.string().min(1).optional(),
    prefix: z.string().optional(),
    expression: expression(ofClaims).optional(),
  })
  .refine(({ claim, expression: of }) => isOne(claim, of), exactlyOne('claim', 'expression'))
  .refine(({ claim, prefix }) => (claim === undefined) === (prefix === undefined), {
    error: 'a claim needs a prefix: write prefix: "" for none; an expression has no prefix',
  });

const authority = z.string().refine((pem) => pem === '' || hasCertificate(pem), {
  error: 'has no certificate: write the PEM of the authority that signs the certificate of the issuer',
});

const issuer = z.strictObject({
  url: httpsUrl,
  discoveryURL: httpsUrl.optional(),
  certificateAuthority: authority.optional(),
  audiences: z.array(z.string().min(1)).min(1),
  audienceMatchPolicy: z.literal('MatchAny').optional(),
});

const authenticator = z.strictObject({
  issuer,
  claimValidationRules: z
    .array(
      z
        .strictObject({
          claim: z.string().min(1).optional(),
          requiredValue: z.string().optional(),
          expression: expression(ofClaims, 'bool').optional(),
          message: z.string().optional(),
        })
        .refine(({ claim, expression: of }) => isOne(claim, of), exactlyOne('claim', 'expression')),
    )
    .default([]),
  claimMappings: z.strictObject({
    username: prefixed,
    groups: prefixed.optional(),
    uid: z
      .strictObject({ claim: z.string().min(1).optional(), expression: expression(ofClaims).optional() })
      .refine(({ claim, expression: of }) => isOne(claim, of), exactlyOne('claim', 'expression'))
      .optional(),
    extra: z
      .array(
        z.strictObject({
          key: z.string().regex(/^[a-z0-9.-]+\/[a-z0-9/._-]+$/, {
            error: 'write a path with a domain in lower case, such as example.org/tenant',
          }),
          valueExpression: expression(ofClaims),
        }),
      )
      .default([]),
  }),
  userValidationRules: z
    .array(z.strictObject({ expression: expression(ofUser, 'bool'), message: z.string().optional() }))
    .default([]),
});
export type OidcAuthenticator = z.infer<typeof authenticator>;

const schema = z.strictObject({
  apiVersion: z.enum(['apiserver.config.k8s.io/v1', 'apiserver.config.k8s.io/v1beta1']),
  kind: z.literal('AuthenticationConfiguration'),
  jwt: z
    .array(authenticator)
    .default([])
    .refine((all) => new Set(all.map(({ issuer: { url } }) => url)).size === all.length, {
      error: 'each issuer has a url of its own',
    }),
  // A node knows no anonymous users. So the only value that has an effect is the present one.
  anonymous: z.strictObject({ enabled: z.literal(false) }).optional(),
});

function hasCertificate(pem: string): boolean {
  try {
    return certificatesIn(pem).length > 0;
  } catch {
    return false;
  }
}

/** Throws BadRequest with the file, the line, the field and a remedy. */
export function parseAuthentication(text: string, file: string): readonly OidcAuthenticator[] {
  return parseConfig(text, file, schema, 'AuthenticationConfiguration').jwt;
}
