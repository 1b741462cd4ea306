/** JSON, with and without a schema registry. */
package io.streamsql.formats.json;
