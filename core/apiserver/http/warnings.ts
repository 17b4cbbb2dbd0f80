/** Warnings of an answer as headers, which kubectl prints. */

/** The headers of an answer with these warnings. */
export function warned(warnings: readonly string[]): Record<string, string[]> {
  return warnings.length > 0 ? { warning: warningHeaders(warnings) } : {};
}

/** Bounds of the Kubernetes API server. Proxies and clients accept only a few KB of headers. */
const warningCharactersMax = 256;
const warningsCharactersMax = 4096;

/**
 * The warnings as quoted strings of RFC 9110, in ASCII. A warning may contain the name of a field, which comes from the request body and may contain any
 * character. With an invalid header, the answer would fail, also after a write that has already happened. As in Kubernetes, long warnings are cut only if all of them
 * together are too long.
 */
function warningHeaders(warnings: readonly string[]): string[] {
  const texts = [...new Set(warnings)];
  const isCut = texts.reduce((sum, text) => sum + text.length, 0) > warningsCharactersMax;
  const headers: string[] = [];
  let length = 0;
  for (const text of texts) {
    if (length >= warningsCharactersMax) break;
    const shown = isCut ? text.slice(0, warningCharactersMax) : text;
    const quoted = JSON.stringify(shown).replaceAll(
      /[^\x20-\x7e]/g,
      (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
    );
    length += shown.length;
    headers.push(`299 - ${quoted}`);
  }
  return headers;
}
